// Uses Deno's file API: the copying that each thread does (see aux_file_copy.ts).
import { partitionPoint } from "@perfdata/format/bytes";
import { type FileSource, fileSource, OutputError, writeAllSync } from "@perfdata/format/files";

/**
 * Bytes that are copied at once. Larger blocks are slower: on ext4 (Linux 6.18), writes of 128 KB
 * took up to twice as long, and of 1 MB four times.
 */
const BLOCK = 1 << 16;

/** Bytes of an output that a thread claims at once. */
const SHARE = 1 << 22;

/** The copies that the threads share. */
export interface CopyTask {
  /** Path of the recording. */
  readonly from: string;
  /** The files to write. */
  readonly outputs: readonly CopyOutput[];
  /**
   * In shared memory: number of claimed shares by output, then the kilobytes that were copied in
   * all.
   */
  readonly taken: Int32Array;
}

/** A file to write: pieces of the recording, one after the other. */
export interface CopyOutput {
  readonly path: string;
  /** Name of the file in messages. */
  readonly name: string;
  readonly size: number;
  /** Offset of each piece in the recording. */
  readonly sources: Float64Array;
  /** Offset after each piece in the output. */
  readonly ends: Float64Array;
}

/** The output from which a thread starts, and the direction. */
export type CopyOrder = "first to last" | "last to first";

/**
 * Claims and copies shares of the outputs until none is left.
 *
 * @param progress receives the number of bytes that all threads have copied since the last call.
 */
export function copyShares(
  { from, outputs, taken }: CopyTask,
  order: CopyOrder,
  progress: (bytes: number) => void = () => {},
): void {
  using input = fileSource(from);
  let reported = 0;
  for (let n = 0; n < outputs.length; n++) {
    const i = order === "first to last" ? n : outputs.length - 1 - n;
    const output = outputs[i] as CopyOutput;
    const shares = Math.ceil(output.size / SHARE);
    if (Atomics.load(taken, i) >= shares) continue;
    using file = Deno.openSync(output.path, { write: true });
    for (let share; (share = Atomics.add(taken, i, 1)) < shares;) {
      const start = share * SHARE;
      const end = Math.min(output.size, start + SHARE);
      copyShare(input, file, output, start, end);
      const kilobytes = Math.floor((end - start) / 1024);
      const done = Atomics.add(taken, outputs.length, kilobytes) + kilobytes;
      progress((done - reported) * 1024);
      reported = done;
    }
  }
}

const buffer = new Uint8Array(BLOCK);

/** Copies the bytes of an output from `start` to before `end`. */
function copyShare(
  input: FileSource,
  file: Deno.FsFile,
  { name, sources, ends }: CopyOutput,
  start: number,
  end: number,
): void {
  file.seekSync(start, Deno.SeekMode.Start);
  let piece = pieceOf(ends, start);
  for (let at = start; at < end; piece++) {
    const begin = piece === 0 ? 0 : ends[piece - 1] as number;
    const stop = Math.min(end, ends[piece] as number);
    const moved = sources[piece] as number - begin;
    while (at < stop) {
      const n = input.readAt(buffer.subarray(0, Math.min(BLOCK, stop - at)), at + moved);
      if (n === 0) throw new Error(`${name}: the recording was truncated while it was read`);
      try {
        writeAllSync(file, buffer.subarray(0, n));
      } catch (error) {
        throw new OutputError(name, error);
      }
      at += n;
    }
  }
}

/** The first piece that ends after `at`. */
function pieceOf(ends: Float64Array, at: number): number {
  return partitionPoint(0, ends.length, (i) => (ends[i] as number) <= at);
}
