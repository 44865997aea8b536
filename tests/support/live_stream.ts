/** Streams of recordings that arrive as a test wants. */
import { bytesSource, type StreamSource } from "@perfdata/format/bytes";
import { PERF_RECORD_FINISHED_ROUND, PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { PerfDataReader } from "@perfdata/format/records";

const RECORDED = Deno.readFileSync(
  new URL("../../fixtures/recorded/pipe.perf.data", import.meta.url),
);
/** A FINISHED_ROUND record. */
const ROUND = Uint8Array.of(PERF_RECORD_FINISHED_ROUND, 0, 0, 0, 0, 0, 8, 0);

/** The offsets after the records of a stream, with their types. */
export async function records(bytes: Uint8Array): Promise<{ type: number; end: number }[]> {
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const found: { type: number; end: number }[] = [];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      found.push({ type: batch.type(i), end: batch.offsetOf(i) + batch.size(i) });
    }
  }
  return found;
}

/** The stream with a FINISHED_ROUND after so many samples. */
export async function inRounds(bytes = RECORDED, every = 10): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let [from, samples] = [0, 0];
  for (const { type, end } of await records(bytes)) {
    if (type !== PERF_RECORD_SAMPLE || ++samples % every !== 0) continue;
    parts.push(bytes.subarray(from, end), ROUND);
    from = end;
  }
  parts.push(bytes.subarray(from));
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** A stream whose bytes a test delivers. */
export class Slow implements StreamSource {
  #parts: (Uint8Array | Error | undefined)[] = [];
  #come: () => void = () => {};

  /** Delivers bytes; an error breaks the stream, `undefined` ends it. */
  push(...parts: readonly (Uint8Array | Error | undefined)[]): void {
    this.#parts.push(...parts);
    this.#come();
  }

  async read(into: Uint8Array): Promise<number> {
    while (this.#parts.length === 0) await new Promise<void>((come) => this.#come = come);
    const [part] = this.#parts;
    if (part === undefined) return 0;
    if (part instanceof Error) throw part;
    const count = Math.min(into.length, part.length);
    into.set(part.subarray(0, count));
    this.#parts[0] = part.subarray(count);
    if (count === part.length) this.#parts.shift();
    return count;
  }
}
