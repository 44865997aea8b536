import { assert, assertEquals } from "@std/assert";
import { bytesSource } from "@perfdata/format/bytes";
import { KERNEL_RECORDS, PerfDataReader, RecordCodec } from "@perfdata/format/records";
import { USER_RECORDS } from "@perfdata/user-records";
import { corpusFiles, corpusFolder } from "../support/corpus.ts";
import { skipped } from "../support/ignored.ts";

/**
 * Another parser's text of the same files: the protocol buffers that google/perf_data_converter
 * stores beside its test data. Each event has its record header and decoded fields.
 */
const FOLDER = `${corpusFolder}/google__perf_data_converter/golden/src/quipper/testdata`;

const codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
type Decoded = ReturnType<typeof codec.decode>;

/** The events of a golden text: each a sorted list of `path: value` lines, as one string. */
function goldenEvents(text: string): string[] {
  const events: string[] = [];
  const path: string[] = [];
  let lines: string[] = [];
  for (const line of text.split("\n")) {
    const trimmed = line.trim();
    if (trimmed.endsWith("{")) {
      path.push(trimmed.slice(0, -2));
      if (path.length === 1) lines = [];
    } else if (trimmed === "}") {
      if (path.length === 1 && path[0] === "events") {
        // Without an index in the file the parser still prints one, and says so.
        const none = lines.includes("sample_event.no_hw_idx: true");
        const kept = lines.filter((line) => !/\.no_hw_idx: /.test(line));
        events.push(
          kept.filter((line) => !none || !/\.branch_stack_hw_idx: /.test(line)).join("\n"),
        );
      }
      path.pop();
    } else if (path[0] === "events" && trimmed !== "") {
      const field = trimmed.slice(0, trimmed.indexOf(":"));
      if (DERIVED.test(field) || path.length === 1) continue;
      const name = [...path.slice(1), field].join(".");
      if (name.endsWith(BRANCH_TYPE)) continue;
      lines.push(`${name}: ${unescape(trimmed.slice(field.length + 2))}`);
    }
  }
  return events;
}

/** Fields that the parser computes instead of reading: hashes, and resolved paths. */
const DERIVED = /md5_prefix$|^root_path|^timestamp$|^spec$/;

/** `type` of a branch, which the parser prints only for some entries. */
const BRANCH_TYPE = "branch_stack.type";

function unescape(value: string): string {
  if (!value.startsWith('"')) return value;
  return value.slice(1, -1).replace(
    /\\(?:([0-7]{3})|(.))/g,
    (_, octal, char) =>
      octal === undefined
        ? { n: "\n", t: "\t", r: "\r" }[char as string] ?? char
        : String.fromCharCode(parseInt(octal, 8)),
  );
}

/** Our record in the parser's notation; `undefined` for a type that it does not know. */
function ourEvent(record: Decoded, size: number): string | undefined {
  if (record.name === "RAW") return undefined;
  const lines = [
    `header.type: ${record.type}`,
    `header.misc: ${record.misc}`,
    `header.size: ${size}`,
  ];
  const put = (path: string, fields: Record<string, unknown>) => {
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      // Process and thread ids are unsigned there.
      const shown = /^p?p?[pt]id$/.test(name) ? Number(value) >>> 0 : value;
      lines.push(`${path}.${name}: ${shown}`);
    }
  };
  const trailer = (path: string) => {
    const { pid, tid, time, id, stream_id, cpu, identifier } = record.sample_id ?? {};
    put(`${path}.sample_info`, {
      pid,
      tid,
      sample_time_ns: time,
      id: identifier ?? id,
      stream_id,
      cpu,
    });
  };
  switch (record.name) {
    case "MMAP":
    case "MMAP2": {
      const { addr: start, filename_pad: _, ...rest } = record.body;
      put("mmap_event", { ...rest, start });
      trailer("mmap_event");
      break;
    }
    case "COMM": {
      const { pid, tid, comm } = record.body;
      put("comm_event", { pid, tid, comm });
      trailer("comm_event");
      break;
    }
    case "FORK":
    case "EXIT": {
      const { time: fork_time_ns, ...rest } = record.body;
      const path = record.name === "FORK" ? "fork_event" : "exit_event";
      put(path, { ...rest, fork_time_ns });
      trailer(path);
      break;
    }
    case "THROTTLE":
    case "UNTHROTTLE": {
      const { time: time_ns, ...rest } = record.body;
      put("throttle_event", { time_ns, ...rest });
      trailer("throttle_event");
      break;
    }
    case "LOST_SAMPLES":
      put("lost_samples_event", { num_lost: record.body.lost });
      trailer("lost_samples_event");
      break;
    case "ITRACE_START":
      put("itrace_start_event", record.body);
      trailer("itrace_start_event");
      break;
    case "SWITCH_CPU_WIDE":
      put("context_switch_event", { is_out: (record.misc & 0x2000) !== 0, ...record.body });
      trailer("context_switch_event");
      break;
    case "SWITCH":
      put("context_switch_event", { is_out: (record.misc & 0x2000) !== 0 });
      trailer("context_switch_event");
      break;
    case "SAMPLE": {
      const { ip, pid, tid, time, addr, id, identifier, stream_id, cpu, period } = record.body;
      put("sample_event", {
        ip,
        pid,
        tid,
        sample_time_ns: time,
        addr,
        id: identifier ?? id,
        stream_id,
        cpu,
        period,
        raw_size: record.body.raw?.length,
      });
      for (const entry of record.body.callchain ?? []) put("sample_event", { callchain: entry });
      const { branch_stack } = record.body;
      if (branch_stack?.hw_idx !== undefined) {
        put("sample_event", { branch_stack_hw_idx: branch_stack.hw_idx });
      }
      for (const { from, to, flags } of branch_stack?.entries ?? []) {
        put("sample_event.branch_stack", {
          from_ip: from,
          to_ip: to,
          mispredicted: flags.mispred,
          predicted: flags.predicted,
          in_transaction: flags.in_tx,
          abort: flags.abort,
          cycles: flags.cycles,
        });
      }
      break;
    }
    default:
      return undefined;
  }
  return lines.join("\n");
}

/** Sorted lines, since the parsers print fields in different orders. */
const canonical = (event: string) => {
  const lines = event.split("\n").filter((line) => !/\.raw: /.test(line));
  const chain = lines.filter((line) => /callchain|branch_stack\./.test(line));
  const others = lines.filter((line) => !/callchain|branch_stack\./.test(line)).sort();
  return [...others, ...chain].join("\n");
};

const typeOf = (event: string) => /^header\.type: \d+$/m.exec(event)?.[0];

const field = (event: string, name: string) =>
  new RegExp(`${name}: (.*)$`, "m").exec(event)?.[1] ?? "";

/**
 * Whether `theirs` is the parser's form of `ours`. It changes two things: mappings that were split
 * by huge pages are joined again, and addresses of call chains outside of mappings are moved to
 * impossible addresses (bits 47 to 63 are not equal).
 */
function explained(ours: string, theirs: string): boolean {
  if (typeOf(ours) !== typeOf(theirs)) return false;
  if (field(ours, "mmap_event.len") !== "") {
    const start = BigInt(field(theirs, "mmap_event.start"));
    const from = BigInt(field(ours, "mmap_event.start"));
    return field(ours, "mmap_event.pid") === field(theirs, "mmap_event.pid") && from >= start &&
      from + BigInt(field(ours, "mmap_event.len")) <=
        start + BigInt(field(theirs, "mmap_event.len"));
  }
  const [a, b] = [ours.split("\n"), theirs.split("\n")];
  return a.length === b.length && a.every((line, i) => {
    const other = b[i] ?? "";
    if (line === other) return true;
    if (!other.startsWith("sample_event.callchain: ")) return false;
    const high = BigInt(other.slice("sample_event.callchain: ".length)) >> 47n;
    return high !== 0n && high !== 0x1ffffn;
  });
}

const files = corpusFiles().filter(({ name }) => name.startsWith("google__perf_data_converter/"));

Deno.test({
  name: "golden: records have the values of another parser",
  ignore: files.length === 0,
  async fn(t) {
    let compared = 0;
    for (const entry of Deno.readDirSync(FOLDER)) {
      if (!entry.name.endsWith(".pb_text.gz")) continue;
      const base = entry.name.replace(/(\.pr\.out)?\.pb_text\.gz$/, "");
      const file = files.find(({ name }) => name.split("/").pop()?.split("@")[0] === base);
      if (file === undefined) {
        await skipped(t, `${entry.name}: its perf.data is not in the corpus`);
        continue;
      }
      const zipped = await Deno.open(`${FOLDER}/${entry.name}`);
      const text = await new Response(
        zipped.readable.pipeThrough(new DecompressionStream("gzip")),
      ).text();
      const theirs = goldenEvents(text).map(canonical);

      const reader = await PerfDataReader.open(bytesSource(Deno.readFileSync(file.path)), {
        diagnostics: (error) => console.log(`    ${error.located()}`),
      });
      const ours: string[] = [];
      for await (const batch of reader.batches()) {
        for (let i = 0; i < batch.count; i++) {
          const record = codec.decode(batch.recordBytes(i), batch.context(i));
          const event = ourEvent(record, batch.size(i));
          if (event !== undefined) ours.push(canonical(event));
        }
      }
      // The parser sorts by time, while our records are in file order: compare them as a multiset.
      const types = new Set(ours.map(typeOf));
      const bag = new Map<string, number>();
      for (const event of theirs) {
        if (types.has(typeOf(event))) bag.set(event, (bag.get(event) ?? 0) + 1);
      }
      const extra: string[] = [];
      for (const event of ours) {
        const left = bag.get(event) ?? 0;
        if (left === 0) extra.push(event);
        else bag.set(event, left - 1);
      }
      const missing = [...bag].filter(([, left]) => left > 0).map(([event]) => event);
      console.log(
        `${base}: ${
          ours.length - extra.length
        } records equal, ${extra.length} changed by that parser`,
      );
      const unexplained = extra.filter((event) =>
        !missing.some((other) => explained(event, other))
      );
      assertEquals([unexplained, missing.length > extra.length], [[], false], base);
      compared += ours.length;
    }
    assert(compared > 10_000, `only ${compared} records compared`);
  },
});

/** The text of KDAB's perfparser: a line of name, pid, tid, time, and one of event and period. */
const PERFPARSER = /^[^\t\n]+\t(\d+)\t(\d+)\t(\d+)\.(\d{9})\n\t\w+: (\d+)$/gm;

Deno.test({
  name: "golden: samples equal those of perfparser",
  ignore: files.length === 0,
  async fn() {
    const folder = "KDAB__perfparser/tests/auto/perfdata/vector_static_gcc/";
    for (const { name, path } of corpusFiles().filter(({ name }) => name.startsWith(folder))) {
      const text = Deno.readTextFileSync(`${path}.expected.txt`);
      const theirs = [...text.matchAll(PERFPARSER)].map(([, pid, tid, s, ns, period]) =>
        `${pid} ${tid} ${s}${ns} ${period}`
      );
      const reader = await PerfDataReader.open(bytesSource(Deno.readFileSync(path)));
      const ours: string[] = [];
      for await (const batch of reader.batches()) {
        for (let i = 0; i < batch.count; i++) {
          const record = codec.decode(batch.recordBytes(i), batch.context(i));
          if (record.name !== "SAMPLE") continue;
          const { pid, tid, time, period } = record.body;
          ours.push(`${pid} ${tid} ${time} ${period}`);
        }
      }
      console.log(`${name}: ${ours.length} samples`);
      assert(ours.length > 0);
      assertEquals(ours.sort(), theirs.sort());
    }
  },
});
