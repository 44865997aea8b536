// Uses Deno's standard output: what the threads of a dump have in common (see parallel.ts).
import type { DumpOptions, DumpPart } from "./dump.ts";

/** What a worker is asked. */
export interface ShareTask {
  /** Path of the file. */
  readonly path: string;
  /** Its size when the dump began: it may be one that is still written. */
  readonly fileSize: number;
  /** What to dump. */
  readonly options: Omit<DumpOptions, "path" | "write">;
  /** Bytes of records in a share. */
  readonly size: number;
  /** Who writes when. */
  readonly turns: SharedArrayBuffer;
}

/** What a worker answers: what it printed, or why it did not. */
export type ShareAnswer =
  | { readonly kind: "part"; readonly part: DumpPart }
  | { readonly kind: "stopped" }
  | { readonly kind: "error"; readonly message: string; readonly isBrokenPipe: boolean };

/** Writes all of `bytes` to standard output. */
export function writeAll(bytes: Uint8Array): void {
  for (let n = 0; n < bytes.length;) n += Deno.stdout.writeSync(bytes.subarray(n));
}
