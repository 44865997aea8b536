/** Text of tracepoints compared with `perf script`: all formats of the running kernel. */
import { emptyAttr, PerfDataWriter } from "@perfdata/format/records";
import { encodeFeature } from "@perfdata/format/features";
import { memorySink } from "@perfdata/format/bytes";
import {
  HEADER_TRACING_DATA,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { parseTracepoint, type TracepointFormat } from "@perfdata/format/tracepoint";
import { assert, assertEquals } from "@std/assert";
import { noPerf, perfText } from "../support/perf.ts";
import { tool } from "../support/tool.ts";
import { ignored, skipped } from "../support/ignored.ts";

const EVENTS = "/sys/kernel/tracing/events";

const TEXT_ADDRESS = 0xffffffff80000000n;

interface Described {
  readonly system: string;
  readonly text: string;
  readonly format: TracepointFormat;
}

/**
 * Events that perf 6.1 prints wrongly: it misparses `a & (b
 * c)`, `a < (b ? c : d)`, `a - b + 1`.
 */
const PERF_IS_WRONG = new Set([
  "timer:timer_start",
  "kmem:mm_page_alloc_extfrag",
  "btrfs:raid56_read",
  "btrfs:raid56_write",
]);

/**
 * perf 6.1 does not know `%c` and `%*pbl`, and finds strings by address only in real recordings.
 */
function isWrongInPerf({ fields, print }: TracepointFormat): boolean {
  return /%c|%\*pb/.test(print?.format ?? "") ||
    /%s/.test(print?.format ?? "") && fields.some(({ type }) => /char \*/.test(type));
}

/** Lines by event. A line without an event continues the previous one. */
function byEvent(text: string): Map<string, string[]> {
  const all = new Map<string, string[]>();
  let last: string[] = [];
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const [, name, rest] = /^\s*([\w-]+:[\w-]+): (.*)$/.exec(line) ?? [];
    if (name === undefined) last[last.length - 1] += `\n${line}`;
    else {
      last = all.get(name) ?? [];
      all.set(name, last);
      last.push(rest ?? "");
    }
  }
  return all;
}

/** The formats of this kernel; empty if they are unreadable. */
function formats(): Described[] {
  const all: Described[] = [];
  try {
    for (const { name: system, isDirectory } of Deno.readDirSync(EVENTS)) {
      if (!isDirectory || system === "ftrace") continue;
      for (const { name, isDirectory } of Deno.readDirSync(`${EVENTS}/${system}`)) {
        if (!isDirectory) continue;
        const text = Deno.readTextFileSync(`${EVENTS}/${system}/${name}/format`);
        const format = parseTracepoint(text, 8);
        if (format !== undefined) all.push({ system, text, format });
      }
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied)) {
      throw error;
    }
  }
  return all.sort((a, b) => a.format.id - b.format.id);
}

/** A fixed sequence of random numbers. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = Math.imul(state ^ state >>> 15, 0x2c1b3c6d) + 0x9e3779b9 | 0;
    return (state ^ state >>> 12) >>> 0;
  };
}

/**
 * Raw data of an event: small numbers, single bits and random ones, with strings for fields that
 * refer to them.
 */
function rawData({ id, common, fields }: TracepointFormat, next: () => number): Uint8Array {
  const fixed = Math.max(8, ...[...common, ...fields].map(({ offset, size }) => offset + size));
  const dynamic = fields.filter((field) => field.dynamic !== "no");
  const bytes = new Uint8Array(fixed + 16 * dynamic.length + 16);
  const view = new DataView(bytes.buffer);
  for (const { offset, size, array, type, name } of fields) {
    // perf prints the lower half of a size_t, reads as many bytes as a length states, and prints
    // the bytes of a pointer to an unknown string.
    const kind = /size_t|loff_t/.test(type) || /len|count|nr/.test(name) ? 0 : next() % 4;
    if (/char \*/.test(type)) {
      view.setBigUint64(offset, TEXT_ADDRESS, true);
      continue;
    }
    for (let i = 0; i < size; i++) {
      bytes[offset + i] = array
        ? 0x61 + next() % 26
        : kind === 0
        ? (i === 0 ? next() % 8 : 0)
        : kind === 1
        ? (next() % size === i ? 1 << next() % 8 : 0)
        : kind === 2
        ? next()
        : (i < 2 ? next() : 0);
    }
    if (array && size > 0) bytes[offset + next() % size] = 0;
  }
  for (const [i, { offset, size, dynamic: kind }] of dynamic.entries()) {
    const at = fixed + 16 * i;
    const length = 8;
    bytes.set(new TextEncoder().encode("some te"), at);
    view.setUint32(offset, (at - (kind === "relative" ? offset + size : 0)) | length << 16, true);
  }
  view.setUint16(0, id, true);
  return bytes;
}

/** A recording with some samples of each event. */
async function recording(events: readonly Described[], samples: number): Promise<Uint8Array> {
  const sink = memorySink();
  const sample_type = BigInt(
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
      PERF_SAMPLE_RAW,
  );
  const attrs = events.map(({ format }, i) => ({
    // An attr of 120 bytes, the longest that perf 6.1 reads.
    attr: {
      ...emptyAttr(),
      size: 120,
      type: 2,
      config: BigInt(format.id),
      sample_type,
      sample_period: 1n,
    },
    ids: [BigInt(i + 1)],
  }));
  const writer = await PerfDataWriter.file(sink, { events: attrs });
  const next = random(events.length);
  for (const [i, { format }] of events.entries()) {
    for (let k = 0; k < samples; k++) {
      const raw = rawData(format, next);
      // sample: identifier, ip, pid and tid, time, cpu, size of the raw data and the data.
      const size = 8 + 8 + 8 + 8 + 8 + 8 + (4 + raw.length + 7 & ~7);
      const record = new Uint8Array(size);
      const view = new DataView(record.buffer);
      view.setUint32(0, 9, true);
      view.setUint16(4, 1, true);
      view.setUint16(6, size, true);
      view.setBigUint64(8, BigInt(i + 1), true);
      view.setUint32(24, 7, true);
      view.setUint32(28, 7, true);
      view.setBigUint64(32, BigInt(1000 * (i * samples + k)), true);
      view.setUint32(48, size - 52, true);
      record.set(raw, 52);
      await writer.write(record);
    }
  }
  const systems = Map.groupBy(events, ({ system }) => system);
  const value = {
    magic: undefined,
    version: "0.6",
    bigendian: 0,
    long_size: 8,
    page_size: 4096,
    header_page: Deno.readTextFileSync(`${EVENTS}/header_page`),
    header_event: Deno.readTextFileSync(`${EVENTS}/header_event`),
    ftrace_formats: [],
    systems: [...systems].map(([name, own]) => ({ name, formats: own.map(({ text }) => text) })),
    kallsyms: "",
    printk_formats: `0x${TEXT_ADDRESS.toString(16)} : "a text\\n"\n`,
    saved_cmdlines: "",
  };
  const tracing = { id: HEADER_TRACING_DATA, name: "TRACING_DATA", value } as unknown;
  await writer.close([{
    id: HEADER_TRACING_DATA,
    bytes: encodeFeature(tracing as Parameters<typeof encodeFeature>[0]),
  }]);
  return sink.bytes();
}

Deno.test("script: tracepoints of this kernel print as in perf", ignored(noPerf()), async (t) => {
  const all = formats();
  if (all.length === 0) {
    await skipped(t, `${EVENTS} cannot be read (mount tracefs, be root)`);
    return;
  }
  const samples = 4;
  const path = Deno.makeTempFileSync({ suffix: ".perf.data" });
  try {
    Deno.writeFileSync(path, await recording(all, samples));
    const theirs = await perfText(["script", "-F", "event,trace"], path);
    const ours = await tool("script", ["-F", "event,trace", path]);
    const latin = Array.from(ours.stdout, (byte) => String.fromCharCode(byte)).join("");
    const expected = byEvent(theirs?.stdout ?? "");
    const actual = byEvent(latin);
    let compared = 0;
    let understood = 0;
    let listed = 0;
    for (const { system, format } of all) {
      const name = `${system}:${format.name}`;
      const wanted = expected.get(name);
      const got = actual.get(name);
      assertEquals(got?.length, samples, name);
      if (wanted === undefined || PERF_IS_WRONG.has(name) || isWrongInPerf(format)) continue;
      if (wanted[0]?.startsWith("[FAILED") && !got?.[0]?.startsWith("[FAILED")) {
        understood++;
        continue;
      }
      if (wanted[0]?.startsWith("[FAILED")) listed++;
      assertEquals(got, wanted, name);
      compared++;
    }
    console.log(
      `tracepoints: ${compared} of ${all.length} events of this kernel print as with perf, ` +
        `${listed} of them as lists of fields; ${understood} that only perf cannot parse`,
    );
    assert(compared > 0.95 * all.length, `only ${compared} of ${all.length} compared`);
  } finally {
    Deno.removeSync(path);
  }
});
