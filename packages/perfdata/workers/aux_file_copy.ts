// Uses Deno's file API and workers.
import { listQueue, Pool } from "@perfdata/session";
import type { AuxStream, CopyProgress } from "@perfdata/session/auxtrace";
import { type CopyOrder, copyShares, type CopyTask } from "./aux_shares.ts";

/** Below this many bytes, starting a second thread takes longer than it saves. */
const LEAST_TO_SHARE = 1 << 26;

/** A stream, and the file for its data. */
export interface AuxFileCopy {
  /** A stream that `readAuxTrace` found; not one of samples in COMPRESSED records. */
  readonly stream: AuxStream;
  /** Path of the file for its data, which exists and is empty. */
  readonly path: string;
  /** Name of the file in messages; its path by default. */
  readonly name?: string;
}

/** Options of {@link copyAuxToFiles}. */
export interface CopyToFilesOptions {
  /** Called from time to time with the bytes that were copied since the last call. */
  readonly progress?: CopyProgress;
  /** Fewest bytes that two threads copy together; 64 MB by default. */
  readonly leastToShare?: number;
}

/**
 * Copies the data of streams, each into its file, piece after piece, without the bytes that pieces
 * have in common.
 *
 * Two threads copy large data, since reading and writing keep a processor busy, mostly in the
 * kernel. Each takes shares of 4 MB: one from the first stream on, the other from the last one
 * back, so that they meet in one file only at the end.
 *
 * @param from Path of the recording.
 * @param copies The streams and their files.
 * @throws {Error} If a file cannot be read or written, as with a full disk.
 *
 * @example
 * ```ts
 * import { PerfDataReader } from "@perfdata/format";
 * import { fileSource } from "@perfdata/format/files";
 * import { auxStreamBytes, readAuxTrace } from "@perfdata/session/auxtrace";
 * import { copyAuxToFiles } from "@perfdata/perfdata/workers";
 * import { assertEquals } from "@std/assert";
 *
 * const from = "fixtures/synthesized/pt-cpus.perf.data";
 * using source = fileSource(from);
 * const { streams } = await readAuxTrace(await PerfDataReader.open(source));
 * const copies = streams.map((stream) => ({ stream, path: Deno.makeTempFileSync() }));
 * await copyAuxToFiles(from, copies);
 * for (const { stream, path } of copies) {
 *   assertEquals(Deno.statSync(path).size, auxStreamBytes(stream));
 *   Deno.removeSync(path);
 * }
 * ```
 */
export async function copyAuxToFiles(
  from: string,
  copies: readonly AuxFileCopy[],
  options: CopyToFilesOptions = {},
): Promise<void> {
  const { progress = () => {}, leastToShare = LEAST_TO_SHARE } = options;
  const outputs = copies.map(({ stream: { pieces }, path, name = path }) => {
    const sources = new Float64Array(pieces.length);
    const ends = new Float64Array(pieces.length);
    let size = 0;
    pieces.forEach(({ fileOffset, overlap, size: bytes }, i) => {
      sources[i] = fileOffset + overlap;
      size += bytes - overlap;
      ends[i] = size;
    });
    return { path, name, size, sources, ends };
  });
  const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * (outputs.length + 1));
  const task: CopyTask = { from, outputs, taken: new Int32Array(shared) };
  if (outputs.reduce((sum, { size }) => sum + size, 0) < leastToShare) {
    return copyShares(task, "first to last", progress);
  }
  using pool = new Pool<CopyTask, CopyOrder, void>(
    1,
    () => new Worker(new URL("./aux_copy_worker.ts", import.meta.url), { type: "module" }),
  );
  // This thread is busy with its shares when the other thread is ready.
  pool.begin(task, listQueue(["last to first"]), { early: true });
  copyShares(task, "first to last", progress);
  await pool.totals();
}
