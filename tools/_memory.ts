/** Says before it happens that a table does not fit into memory: V8 would end the process without a word. */
import { InputError } from "./_cli.ts";

/** Fewer rows fit into any memory: nothing is asked for them. */
const FEW = 1 << 16;

/**
 * Checks that a table that is about to be made fits into memory.
 *
 * @param file The recording.
 * @param rows How many rows it has.
 * @param each Bytes of memory that a row takes, about.
 * @param what What the rows are.
 * @param help What makes them fewer.
 * @throws {InputError} Where there is less than that.
 */
export function checkMemory(
  file: string,
  rows: number,
  each: number,
  what: string,
  help: string,
): void {
  if (rows < FEW) return;
  const { heap_size_limit: limit, used_heap_size: used } = globalThis.process
    .getBuiltinModule("node:v8").getHeapStatistics();
  const needed = rows * each;
  if (needed <= limit - used) return;
  throw new InputError(
    `${file}: ${rows} ${what} need about ${megabytes(needed)} of memory, ` +
      `${megabytes(Math.max(0, limit - used))} are left: ${help}, or give Deno more ` +
      `(DENO_V8_FLAGS=--max-old-space-size=${Math.ceil((needed + used) / 2 ** 20 / 1024) * 1024})`,
  );
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}
