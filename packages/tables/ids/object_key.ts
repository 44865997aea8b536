import type { SymbolObject } from "@perfdata/symbols";

/**
 * What ids of the frames of an object are made of, besides their offsets: its build id, and the symbol that
 * its addresses count from. One without a build id is known in its recording only.
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
