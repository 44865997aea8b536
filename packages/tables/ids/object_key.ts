import type { SymbolObject } from "@perfdata/symbols/resolver";

/**
 * Returns the text that identifies an object in the ids of its frames: its build id, and the symbol to which its
 * addresses are relative. Without a build id, the key is valid for one recording and machine only.
 *
 * @param recording Id of the recording in hex.
 */
export function objectKey(
  { kind, path, reference = "", buildId, guest }: Pick<
    SymbolObject,
    "kind" | "path" | "reference" | "buildId" | "guest"
  >,
  recording: string,
): string {
  return buildId === undefined
    ? `${kind}:${reference}:${recording}:${guest === undefined ? "" : `guest ${guest}:`}${path}`
    : `${kind}:${reference}:${buildId}`;
}
