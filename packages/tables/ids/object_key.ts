import type { SymbolObject } from "@perfdata/symbols";

/**
 * Identifies an object in the ids of its frames: its build id, and the symbol from which its addresses
 * count. Without a build id, the key holds for one recording only.
 *
 * @param recording Id of the recording in hex.
 */
export function objectKey(
  { kind, path, reference = "", buildId }: Pick<
    SymbolObject,
    "kind" | "path" | "reference" | "buildId"
  >,
  recording: string,
): string {
  return buildId === undefined
    ? `${kind}:${reference}:${recording}:${path}`
    : `${kind}:${reference}:${buildId}`;
}
