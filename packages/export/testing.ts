/** Helpers of this package's tests: a profile to write, and programs that read it. */
import { FUNCTION_KIND, type Profile, ProfileBuilder } from "@perfdata/profile";

/** A sample in plain form, with names from the outermost caller inwards. */
export interface PlainSample {
  readonly event: number;
  /** `comm`, pid and tid. */
  readonly thread: readonly [string, number, number];
  /** Functions, outermost first; inlined ones begin with `~`. */
  readonly stack: readonly string[];
  readonly period: number;
  /** Time in nanoseconds. */
  readonly time: number;
}

/** Names that need escaping. */
export const HOSTILE_NAMES: readonly string[] = [
  "</script><script>document.title='broken'</script>",
  '"><img src=x onerror=document.title=1>',
  "a;b c 12",
  "back\\slash\\u003c 'q' \"dq\" `tick` ${x}",
  "line\nbreak\ttab\u2028sep",
  "]]>&amp;<!--",
  "日本語::σ<τ>",
];

/** A random number generator with a fixed sequence per seed. */
export function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ state >>> 15, state | 1);
    word ^= word + Math.imul(word ^ word >>> 7, word | 61);
    return Math.floor(((word ^ word >>> 14) >>> 0) / 2 ** 32 * below);
  };
}

/**
 * Samples of renamed threads: `g++` 40 becomes `cc1plus`, thread 51 of `app` 50 becomes `worker-5`.
 * Only samples of the second event have the old names; those of the first event have the new ones.
 */
export function renamedSamples(): PlainSample[] {
  const threads = [
    [["g++", 40, 40], 1, 2],
    [["cc1plus", 40, 40], 0, 9],
    [["app", 50, 50], 1, 3],
    [["app", 50, 51], 1, 1],
    [["worker-5", 50, 51], 0, 5],
  ] as const satisfies readonly (readonly [PlainSample["thread"], number, number])[];
  return threads.flatMap(([thread, event, count], at) =>
    Array.from({ length: count }, (_, i): PlainSample => ({
      ...{ event, thread, stack: ["main"], period: 10, time: 5e9 + (at * 10 + i) * 1e6 },
    }))
  );
}

/** Random samples in the functions `f0` …, some with hostile names. */
export function plainSamples(count: number, seed: number, functions = 40): PlainSample[] {
  const next = numbers(seed);
  const name = (number: number) => HOSTILE_NAMES[number] ?? `f${number}`;
  const threads: [string, number, number][] = [["main one", 7, 7], ["worker", 7, 8], ["x", 9, 9]];
  const samples: PlainSample[] = [];
  let time = 5e9;
  for (let i = 0; i < count; i++) {
    const stack = ["main"];
    for (let depth = next(9); depth > 0; depth--) {
      const below = name(next(functions));
      stack.push(next(5) === 0 ? `~${below}` : below);
    }
    time += 1000 + next(2e6);
    samples.push({
      event: next(4) === 0 ? 1 : 0,
      thread: threads[next(3)] as [string, number, number],
      stack: next(50) === 0 ? [] : stack,
      period: 1 + next(1000),
      time,
    });
  }
  return samples;
}

/**
 * The profile of plain samples. Functions with an even number are in one object, others in another.
 */
export function profileOf(samples: readonly PlainSample[], timed = true): Profile {
  const builder = new ProfileBuilder({
    events: [{ name: "cpu-clock", unit: "nanoseconds" }, { name: "page-faults", unit: "count" }],
    title: "perf record demo",
    trust: "100% of addresses have a function",
  });
  const program = builder.object({
    name: "demo",
    path: "/usr/bin/demo",
    buildId: "00112233445566778899aabbccddeeff00112233",
  });
  const kernel = builder.object({ name: "[kernel.kallsyms]", path: "[kernel.kallsyms]" });
  const places = new Map<string, number>();
  for (const { event, thread: [comm, pid, tid], stack, period, time } of samples) {
    let node = -1;
    for (let i = 0; i < stack.length;) {
      const name = stack[i++] as string;
      const inlined: string[] = [];
      while (stack[i]?.startsWith("~")) inlined.unshift((stack[i++] as string).slice(1));
      const key = JSON.stringify([name, inlined]);
      let place = places.get(key);
      if (place === undefined) {
        const isKernel = name.length % 3 === 0;
        const kind = isKernel ? FUNCTION_KIND.KERNEL : FUNCTION_KIND.USER;
        const at = 0x1000 + places.size * 16;
        place = builder.place(isKernel ? kernel : program, at, [
          ...inlined.map((inner) => ({
            name: inner,
            kind: kind | FUNCTION_KIND.INLINED,
            file: "/src/in.h",
            line: 3,
          })),
          { name, kind, file: "/src/demo.c", line: at & 0xff },
        ]);
        places.set(key, place);
      }
      node = builder.stack(node, place);
    }
    builder.sample({
      stack: node,
      event,
      thread: builder.thread(pid, tid, comm),
      period,
      ...(timed ? { time, cpu: tid % 2 } : {}),
    });
  }
  return builder.profile();
}

/**
 * Seven samples, in this order and at these times (ns):
 *
 * | time  | tid | event       | stack              | period |
 * | ----- | --- | ----------- | ------------------ | ------ |
 * | 1000  | 7   | cpu-clock   | main, f, ~g        | 10     |
 * | 2000  | 7   | cpu-clock   | main, f, ~g, k     | 20     |
 * | 2500  | 8   | cpu-clock   | main, f, ~g        | 3      |
 * | 2600  | 7   | page-faults | main               | 1      |
 * | 3000  | 7   | cpu-clock   | main               | 5      |
 * | 3500  | 8   | cpu-clock   |                    | 4      |
 * | 20000 | 7   | cpu-clock   | main, f, ~g        | 7      |
 *
 * `~g` is inlined in f, k is of the kernel. Thread 7 runs `demo`, its thread 8 `work er`.
 */
export function smallProfile(timed = true): Profile {
  const builder = new ProfileBuilder({
    events: [{ name: "cpu-clock", unit: "nanoseconds" }, { name: "page-faults", unit: "count" }],
    title: "perf record demo",
    trust: "all",
  });
  const demo = builder.object({ name: "demo", path: "/usr/bin/demo", buildId: "0011aaff" });
  const kernel = builder.object({ name: "[kernel]", path: "[kernel.kallsyms]" });
  const { USER, KERNEL, INLINED } = FUNCTION_KIND;
  const main = builder.stack(
    -1,
    builder.place(demo, 0x1000, [{ name: "main", kind: USER, file: "/src/demo.c", line: 10 }]),
  );
  const f = builder.stack(
    main,
    builder.place(demo, 0x2000, [
      { name: "g", kind: USER | INLINED, file: "/src/in.h", line: 3 },
      { name: "f", kind: USER, file: "/src/demo.c", line: 20 },
    ]),
  );
  const k = builder.stack(f, builder.place(kernel, 0x10, [{ name: "k", kind: KERNEL }]));
  const first = builder.thread(7, 7, "demo");
  const second = builder.thread(7, 8, "work er");
  const samples: (readonly [number, number, number, number, number])[] = [
    [1000, first, 0, f, 10],
    [2000, first, 0, k, 20],
    [2500, second, 0, f, 3],
    [2600, first, 1, main, 1],
    [3000, first, 0, main, 5],
    [3500, second, 0, -1, 4],
    [20000, first, 0, f, 7],
  ];
  for (const [time, thread, event, stack, period] of samples) {
    const cpu = thread === first ? 0 : 1;
    builder.sample({ stack, event, thread, period, ...(timed ? { time, cpu } : {}) });
  }
  return builder.profile();
}

/** Names of a sample's stack, without the mark of inlined functions. */
export function namesOf({ stack }: PlainSample): string[] {
  return stack.map((name) => name.replace(/^~/, ""));
}

export async function bytesOf(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of chunks) parts.push(chunk.slice());
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export async function textOf(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<string> {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await bytesOf(chunks));
}

/**
 * Runs a program that reads a profile.
 *
 * @returns the program's output
 * @throws if it is not installed, or its exit code is not 0
 */
export function consumer(name: string, args: readonly string[]): string {
  const { code, stdout, stderr } = new Deno.Command(name, {
    args: [...args],
    env: { LC_ALL: "C" },
    stdin: "null",
  }).outputSync();
  const text = new TextDecoder();
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${text.decode(stderr)}`);
  return text.decode(stdout);
}

/** Calls `action` with the path of a file with these bytes. */
export async function withFile<T>(
  name: string,
  bytes: Uint8Array,
  action: (path: string) => T | Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-export-" });
  try {
    const path = `${folder}/${name}`;
    await Deno.writeFile(path, bytes);
    return await action(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
