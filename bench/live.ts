/**
 * Measures the memory of a live recording: streams of 10,000 samples a second, each twice as long as
 * the one before, are read as fast as they come, and a profile is requested as often as the page does.
 * Each length is measured in a process of its own.
 *
 * usage: deno run -A bench/live.ts [SECONDS [LENGTHS [STRIDE]]]
 *
 * SECONDS: of the shortest stream (60). LENGTHS: number of streams (4). STRIDE: seconds by which the
 * times of two blocks of 10,000 samples differ (1); 60 makes hours.
 */
import type { StreamSource } from "@perfdata/format/bytes";
import {
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { emptyAttr } from "@perfdata/format/records";
import { asPipe, Numbers } from "../fixtures/synthesize/recording.ts";
import { LiveRecording } from "../tools/shared/live_recording.ts";

const RATE = 10_000;
const ROUNDS = 10;
const FRAMES = 8;
/** Stacks of each second; some of them are new in each. */
const STACKS = 400;
const THREADS = 64;
const SAMPLE_SIZE = 8 * (8 + FRAMES + 1);
const SAMPLE_TYPE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
  PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
const PERF_CONTEXT_USER = -512n;

/** The stream: its head, then a block of samples for each second. */
class Stream implements StreamSource {
  readonly #blocks: number;
  readonly #stride: bigint;
  readonly #bytes = new Uint8Array(RATE * SAMPLE_SIZE + 8 * ROUNDS);
  readonly #numbers = new Numbers(1);
  #part: Uint8Array;
  #block = 0;

  constructor(head: Uint8Array, blocks: number, stride: number) {
    this.#part = head;
    this.#blocks = blocks;
    this.#stride = BigInt(stride) * 1_000_000_000n;
  }

  read(into: Uint8Array): number {
    if (this.#part.length === 0) {
      if (this.#block === this.#blocks) return 0;
      this.#fill(this.#block++);
    }
    const part = this.#part.subarray(0, into.length);
    into.set(part);
    this.#part = this.#part.subarray(part.length);
    return part.length;
  }

  #fill(block: number): void {
    const view = new DataView(this.#bytes.buffer);
    const start = 1_000_000_000n + BigInt(block) * this.#stride;
    let at = 0;
    for (let i = 0; i < RATE; i++) {
      const tid = 1000 + this.#numbers.below(THREADS);
      const stack = block + this.#numbers.below(STACKS);
      const words = [
        ...[1n, address(stack, 0), BigInt(tid) << 32n | BigInt(tid)],
        ...[start + BigInt(i) * 100_000n, BigInt(tid & 7), 1_000_000n],
        ...[BigInt(FRAMES + 1), PERF_CONTEXT_USER],
        ...Array.from({ length: FRAMES }, (_, frame) => address(stack, frame)),
      ];
      view.setUint32(at, PERF_RECORD_SAMPLE, true);
      view.setUint16(at + 4, PERF_RECORD_MISC_USER, true);
      view.setUint16(at + 6, SAMPLE_SIZE, true);
      for (const [n, word] of words.entries()) view.setBigUint64(at + 8 + 8 * n, word, true);
      at += SAMPLE_SIZE;
      if ((i + 1) % (RATE / ROUNDS) !== 0) continue;
      view.setUint32(at, PERF_RECORD_FINISHED_ROUND, true);
      view.setUint32(at + 4, 8 << 16, true);
      at += 8;
    }
    this.#part = this.#bytes;
  }
}

/** The address of a frame; outer frames are those of many stacks. */
function address(stack: number, frame: number): bigint {
  return 0x400000n + BigInt(frame * 0x10000 + (stack >> frame) % 4096 * 16);
}

/** Reads one stream; prints its size, the resident memory at the end, and the highest. */
async function measure(blocks: number, stride: number): Promise<void> {
  const head = await asPipe({
    events: [{ attr: { ...emptyAttr(), sample_type: BigInt(SAMPLE_TYPE) }, ids: [1n] }],
    items: [],
    features: [],
  }, true);
  const source = new Stream(head, blocks, stride);
  const flags = { on: {}, value: {}, operands: [] } as never;
  const about = { tool: "bench", name: "-", flags, debugInformation: false };
  const live = new LiveRecording({ ...about, source });
  let version = 0;
  let samples = 0;
  for (let isOver = false; !isOver;) {
    const state = await live.next(version);
    const made = await live.profile();
    if (made !== undefined) {
      ({ version } = made);
      samples = made.profile.samples.length;
    }
    ({ isOver } = state);
  }
  await live.done;
  const status = Deno.readTextFileSync("/proc/self/status");
  const [, highest = ""] = /VmHWM:\s+(\d+)/.exec(status) ?? [];
  const { rss } = Deno.memoryUsage();
  console.log(
    `${String(blocks * RATE).padStart(9)} samples, ${mega(live.state.bytes)} MB in: ` +
      `${mega(rss)} MB at the end, ${mega(1024 * Number(highest))} MB at most, ${samples} rows`,
  );
}

function mega(bytes: number): string {
  return (bytes / 1e6).toFixed(0).padStart(6);
}

const [first = 60, lengths = 4, stride = 1] = Deno.args.map(Number);
if (lengths === 1) await measure(first, stride);
else {
  for (let n = 0; n < lengths; n++) {
    const args = ["run", "-A", "--no-check", import.meta.url, String(first << n), "1", `${stride}`];
    const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), { args }).output();
    const decoder = new TextDecoder();
    console.log(decoder.decode(success ? stdout : stderr).trimEnd());
  }
}
