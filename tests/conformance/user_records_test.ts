/** User records of the corpus, and records written here, compared with the installed perf. */
import { assert, assertEquals } from "@std/assert";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader, PerfDataWriter, RecordCodec } from "@perfdata/format/records";
import {
  armSpePrivV1,
  GOOGLE_RECORDS,
  intelBtsInfo,
  intelBtsPriv,
  type IntelPtInfo,
  intelPtInfo,
  intelPtPriv,
  privWords,
  USER_RECORDS,
  type UserRecord,
} from "@perfdata/user-records";
import { cpusOf } from "@perfdata/user-records/metadata";
import { corpusFiles } from "../support/corpus.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { skipped } from "../support/ignored.ts";

const codec = new RecordCodec(USER_RECORDS);
const FIRST_USER_TYPE = 64;
const LAST_USER_TYPE = 86;

interface Found {
  /** Offset in perf's notation: in a pipe stream the header does not count. */
  offset: number;
  size: number;
  record: UserRecord;
}

/** The user records of a file, up to damage. */
async function userRecords(bytes: Uint8Array): Promise<{ reader: PerfDataReader; found: Found[] }> {
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
  const found: Found[] = [];
  for await (const batch of reader.batches({ inflate: false })) {
    for (let i = 0; i < batch.count; i++) {
      const type = batch.type(i);
      if (type < FIRST_USER_TYPE || type > LAST_USER_TYPE || reader.isGoogleDialect) continue;
      const context = batch.context(i);
      const original = batch.recordBytes(i).slice();
      const record = codec.decode(original, context);
      assert(record.name !== "RAW", `${record.name === "RAW" && record.error?.located()}`);
      assertEquals(codec.encode(record, context), original);
      const offset = batch.offsetOf(i) - (reader.isPipe ? reader.headerSize : 0);
      found.push({ offset, size: batch.size(i), record });
    }
  }
  return { reader, found };
}

/** CPU numbers in perf's notation: `0-3,8`. */
function cpuList(cpus: number[]): string {
  const ranges: [number, number][] = [];
  for (const cpu of cpus) {
    const last = ranges.at(-1);
    if (last !== undefined && cpu === last[1] + 1) last[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges.map(([from, to]) => from === to ? `${from}` : `${from}-${to}`).join(",");
}

/** `%#lx` */
const hex = (value: bigint | undefined): string =>
  value === undefined || value === 0n ? "0" : `0x${value.toString(16)}`;
/** `%ld` of an unsigned word. */
const signed = (value: bigint | undefined): bigint => BigInt.asIntN(64, value ?? 0n);

function intelPtLines(info: IntelPtInfo): string[] {
  const lines = [
    `  PMU Type            ${signed(info.pmu_type)}`,
    `  Time Shift          ${info.time_shift}`,
    `  Time Muliplier      ${info.time_mult}`,
    `  Time Zero           ${info.time_zero}`,
    `  Cap Time Zero       ${signed(info.cap_user_time_zero)}`,
    `  TSC bit             ${hex(info.tsc_bit)}`,
    `  NoRETComp bit       ${hex(info.noretcomp_bit)}`,
    `  Have sched_switch   ${signed(info.have_sched_switch)}`,
    `  Snapshot mode       ${signed(info.snapshot_mode)}`,
    `  Per-cpu maps        ${signed(info.per_cpu_mmaps)}`,
  ];
  if (info.cyc_bit !== undefined) {
    lines.push(
      `  MTC bit             ${hex(info.mtc_bit)}`,
      `  MTC freq bits       ${hex(info.mtc_freq_bits)}`,
      `  TSC:CTC numerator   ${info.tsc_ctc_n}`,
      `  TSC:CTC denominator ${info.tsc_ctc_d}`,
      `  CYC bit             ${hex(info.cyc_bit)}`,
    );
  }
  if (info.max_nonturbo_ratio !== undefined) {
    lines.push(`  Max non-turbo ratio ${info.max_nonturbo_ratio}`);
  }
  if (info.filter_str_len !== undefined) {
    lines.push(
      `  Filter string len.  ${info.filter_str_len}`,
      `  Filter string       ${info.filter ?? ""}`,
    );
  }
  if (info.cap_event_trace !== undefined) {
    lines.push(`  Cap Event Trace     ${info.cap_event_trace}`);
  }
  return lines;
}

/** The text of `perf report -D` for a record after its name; empty if there is none. */
function perfLines(record: UserRecord, littleEndian: boolean): string[] | undefined {
  switch (record.name) {
    case "TIME_CONV": {
      const { time_shift, time_mult, time_zero, time_cycles } = record.body;
      const lines = [
        "",
        `... Time Shift      ${time_shift}`,
        `... Time Muliplier  ${time_mult}`,
        `... Time Zero       ${time_zero}`,
      ];
      if (time_cycles !== undefined) {
        lines.push(
          `... Time Cycles     ${time_cycles}`,
          `... Time Mask       ${hex(record.body.time_mask)}`,
          `... Cap Time Zero   ${record.body.cap_user_time_zero}`,
          `... Cap Time Short  ${record.body.cap_user_time_short}`,
        );
      }
      return lines;
    }
    case "ID_INDEX":
      return [
        ` nr: ${record.body.entries.length}`,
        ...record.body.entries.map(({ id, idx, cpu, tid }, i) => {
          const guest = record.body.entries_2?.[i];
          return ` ... id: ${id}  idx: ${idx}  cpu: ${cpu}  tid: ${tid}` +
            (guest === undefined ? "" : `  machine_pid: ${guest.machine_pid}  vcpu: ${guest.vcpu}`);
        }),
      ];
    case "THREAD_MAP": {
      const { entries } = record.body;
      const threads = entries.map(({ pid }) => pid).join(", ");
      return [` nr: ${entries.length} thread${entries.length > 1 ? "s" : ""}: ${threads}`];
    }
    case "CPU_MAP":
      return [`: ${cpuList(cpusOf(record.body))}`];
    case "EVENT_UPDATE": {
      const { type, id, unit, scale, name, cpus } = record.body;
      // perf does not swap these in a file of the other byte order.
      if (!littleEndian && (type === 1n || type === 3n)) return undefined;
      const lines = ["", `... id:    ${id}`];
      if (unit !== undefined) lines.push(`... unit:  ${unit}`);
      if (scale !== undefined) lines.push(`... scale: ${scale.toFixed(6)}`);
      if (name !== undefined) lines.push(`... name:  ${name}`);
      if (cpus !== undefined) lines.push(`... ${cpuList(cpusOf(cpus))}`);
      return lines;
    }
    case "AUXTRACE": {
      const { size, offset, reference, idx, tid, cpu } = record.body;
      return [
        ` size: ${hex(size)}  offset: ${hex(offset)}  ref: ${hex(reference)}` +
        `  idx: ${idx}  tid: ${tid}  cpu: ${cpu}`,
      ];
    }
    case "AUXTRACE_INFO": {
      const lines = [` type: ${record.body.type}`];
      const pt = intelPtInfo(record.body, { littleEndian });
      if (pt !== undefined) return [...lines, ...intelPtLines(pt)];
      const bts = intelBtsInfo(record.body);
      if (bts !== undefined) {
        return [
          ...lines,
          `  PMU Type           ${bts.pmu_type}`,
          `  Time Shift         ${bts.time_shift}`,
          `  Time Muliplier     ${bts.time_mult}`,
          `  Time Zero          ${bts.time_zero}`,
          `  Cap Time Zero      ${bts.cap_user_time_zero}`,
          `  Snapshot mode      ${bts.snapshot_mode}`,
        ];
      }
      return lines;
    }
    case "AUXTRACE_ERROR": {
      const { type, code, cpu, pid, tid, ip, time = 0n, msg, machine_pid, vcpu } = record.body;
      const seconds = time === 0n
        ? "0"
        : `${time / 1_000_000_000n}.${`${time % 1_000_000_000n}`.padStart(9, "0")}`;
      const guest = machine_pid === undefined ? "" : ` machine_pid ${machine_pid} vcpu ${vcpu}`;
      return [
        ` instruction trace error type ${type} time ${seconds}${guest}` +
        ` cpu ${cpu} pid ${pid} tid ${tid} ip ${hex(ip)} code ${code}: ${msg}`,
      ];
    }
    case "STAT_CONFIG": {
      const value = (tag: bigint) => record.body.data.find((entry) => entry.tag === tag)?.val;
      return [
        "",
        `... aggr_mode ${value(0n)}`,
        `... scale     ${value(2n)}`,
        `... interval  ${value(1n)}`,
      ];
    }
    case "STAT": {
      const { id, cpu, thread, val, ena, run } = record.body;
      return [
        "",
        `... id ${id}, cpu ${cpu}, thread ${thread}`,
        `... value ${val}, enabled ${ena}, running ${run}`,
      ];
    }
    case "STAT_ROUND": {
      const { time, type } = record.body;
      return ["", `... time ${time}, type ${type === 1n ? "FINAL" : "INTERVAL"}`];
    }
    case "FINISHED_ROUND":
      return [""];
    default:
      return undefined;
  }
}

/** The lines of perf's dump from each record's name on, by offset. */
function dumpedRecords(text: string): Map<string, string[]> {
  const lines = text.split("\n");
  const dumped = new Map<string, string[]>();
  lines.forEach((line, i) => {
    const match = /(?:^|\s)(0x[0-9a-f]+) \[0x[0-9a-f]+\]: PERF_RECORD_([A-Z_0-9]+)(.*)$/.exec(line);
    if (match === null) return;
    const [, offset, name, rest = ""] = match;
    dumped.set(`${offset} ${name}`, [rest, ...lines.slice(i + 1, i + 40)]);
  });
  return dumped;
}

/**
 * Compares records with perf's dump of their file. Returns the number of compared records by name.
 */
function compare(
  found: Found[],
  text: string,
  littleEndian: boolean,
  compared: Map<string, number>,
): void {
  const dumped = dumpedRecords(text);
  for (const { offset, record } of found) {
    const expected = perfLines(record, littleEndian);
    const lines = dumped.get(`0x${offset.toString(16)} ${record.name}`);
    // perf silently stops at damage.
    if (expected === undefined || lines === undefined) continue;
    // `: unhandled!` ends the line of records without further lines.
    const actual = lines.slice(0, Math.min(expected.length, 30))
      .map((line) => line.replace(/: unhandled!$/, ""));
    assertEquals(expected.slice(0, 30), actual);
    compared.set(record.name, (compared.get(record.name) ?? 0) + 1);
  }
}

const REPORT = ["report", "-D", "--no-children", "-g", "none"];
const files = corpusFiles().filter(({ sound }) => sound);
const withPerf = perfVersion() !== undefined;

Deno.test({
  name: "corpus: user records decode to the last byte, and perf prints the same values",
  ignore: files.length === 0,
  async fn() {
    const seen = new Map<string, number>();
    const compared = new Map<string, number>();
    for (const { path, row } of files) {
      const { reader, found } = await userRecords(await Deno.readFile(path));
      for (const { record } of found) seen.set(record.name, (seen.get(record.name) ?? 0) + 1);
      const printed = found.some(({ record }) =>
        record.name !== "FINISHED_ROUND" && perfLines(record, reader.littleEndian) !== undefined
      );
      if (!withPerf || !printed || /simpleperf|hiperf/.test(row["kind"] ?? "")) continue;
      const output = await perfText(REPORT, path);
      if (output !== undefined) compare(found, output.stdout, reader.littleEndian, compared);
    }
    const table = (names: string[]) =>
      names.map((name) => `${name} ${compared.get(name) ?? 0} of ${seen.get(name)}`).join(", ");
    console.log(`compared with perf: ${table([...seen.keys()].sort())}`);
    if (!withPerf) return;
    for (
      const name of ["TIME_CONV", "ID_INDEX", "THREAD_MAP", "CPU_MAP", "EVENT_UPDATE", "AUXTRACE"]
    ) {
      assert((compared.get(name) ?? 0) > 0, `perf printed no ${name}`);
    }
  },
});

Deno.test({
  name: "corpus: a stream of Google's dialect is recognized, and its features are printed",
  ignore: files.length === 0,
  async fn() {
    const name = "google__perf_data_converter/quipper/testdata/perf.data.piped.host-3.2@5d24e0b";
    const file = corpusFiles().find((entry) => entry.name === name);
    assert(file !== undefined);
    const reader = await PerfDataReader.open(bytesSource(await Deno.readFile(file.path)));
    const google = new RecordCodec(GOOGLE_RECORDS);
    const values = new Map<string, unknown>();
    for await (const batch of reader.batches()) {
      for (let i = 0; i < batch.count; i++) {
        const record = google.decode(batch.recordBytes(i), batch.context(i));
        if (record.name === "RAW") {
          assertEquals(record.error, undefined);
          continue;
        }
        assertEquals(google.encode(record, batch.context(i)), batch.recordBytes(i).slice());
        values.set(record.name, record.body);
      }
    }
    assert(reader.isGoogleDialect);
    // Read from a hexdump of the file.
    assertEquals(values.get("HEADER_OSRELEASE"), "3.2.5-gg987");
    assertEquals(values.get("HEADER_ARCH"), "x86_64");
    assertEquals(values.get("HEADER_NRCPUS"), { nr_cpus_avail: 32, nr_cpus_online: 32 });
    assertEquals(values.get("HEADER_CPUID"), "GenuineIntel,6,45,7");
    assertEquals(values.get("HEADER_TOTAL_MEM"), 0x3eda0a0n);
    assertEquals([...values.keys()].sort(), [
      "HEADER_ARCH",
      "HEADER_ATTR",
      "HEADER_CMDLINE",
      "HEADER_CPUDESC",
      "HEADER_CPUID",
      "HEADER_CPU_TOPOLOGY",
      "HEADER_EVENT_DESC",
      "HEADER_EVENT_TYPE",
      "HEADER_HOSTNAME",
      "HEADER_NRCPUS",
      "HEADER_NUMA_TOPOLOGY",
      "HEADER_OSRELEASE",
      "HEADER_TOTAL_MEM",
      "HEADER_VERSION",
    ]);
  },
});

const attr = emptyAttr();
const WRITTEN: UserRecord[] = [
  {
    type: 79,
    name: "TIME_CONV",
    misc: 0,
    body: {
      time_shift: 31n,
      time_mult: 566314151n,
      time_zero: 0xffff_fff0_1234_5678n,
      time_cycles: 77n,
      time_mask: 0xff_ffff_ffff_ffffn,
      cap_user_time_zero: 1,
      cap_user_time_short: 1,
    },
  },
  {
    type: 79,
    name: "TIME_CONV",
    misc: 0,
    body: { time_shift: 30n, time_mult: 2n, time_zero: 3n },
  },
  {
    type: 69,
    name: "ID_INDEX",
    misc: 0,
    body: {
      entries: [{ id: 5n, idx: 0n, cpu: 3n, tid: -1n }, { id: 6n, idx: 1n, cpu: -1n, tid: 77n }],
    },
  },
  {
    type: 69,
    name: "ID_INDEX",
    misc: 0,
    body: {
      entries: [{ id: 5n, idx: 0n, cpu: 3n, tid: -1n }, { id: 6n, idx: 1n, cpu: 2n, tid: 77n }],
      entries_2: [{ machine_pid: 0n, vcpu: 0n }, { machine_pid: 0n, vcpu: 1n }],
    },
  },
  {
    type: 73,
    name: "THREAD_MAP",
    misc: 0,
    body: { entries: [{ pid: 77n, comm: "first" }, { pid: 78n, comm: "second" }] },
  },
  { type: 74, name: "CPU_MAP", misc: 0, body: { type: 0, cpus_data: { cpu: [0, 1, 2, 8] } } },
  {
    type: 74,
    name: "CPU_MAP",
    misc: 0,
    body: { type: 1, mask_data: { long_size: 8, mask: [0x8000_0000_0000_0007n, 0x10n] } },
  },
  {
    type: 74,
    name: "CPU_MAP",
    misc: 0,
    body: { type: 1, mask_data: { long_size: 4, mask: [0x8000_0007, 0x10] } },
  },
  {
    type: 74,
    name: "CPU_MAP",
    misc: 0,
    body: { type: 2, range_cpu_data: { any_cpu: 0, start_cpu: 4, end_cpu: 11 } },
  },
  {
    type: 75,
    name: "STAT_CONFIG",
    misc: 0,
    body: { data: [{ tag: 0n, val: 1n }, { tag: 1n, val: 1000n }, { tag: 2n, val: 1n }] },
  },
  {
    type: 76,
    name: "STAT",
    misc: 0,
    body: { id: 5n, cpu: -1, thread: 2, val: 1n << 40n, ena: 9n, run: 8n },
  },
  { type: 77, name: "STAT_ROUND", misc: 0, body: { type: 1n, time: 123456789n } },
  {
    type: 78,
    name: "EVENT_UPDATE",
    misc: 0,
    body: { type: 0n, id: 5n, unit: "Joules" },
  },
  { type: 78, name: "EVENT_UPDATE", misc: 0, body: { type: 1n, id: 5n, scale: 0.25 } },
  { type: 78, name: "EVENT_UPDATE", misc: 0, body: { type: 2n, id: 5n, name: "cycles:u" } },
  {
    type: 78,
    name: "EVENT_UPDATE",
    misc: 0,
    body: { type: 3n, id: 5n, cpus: { type: 0, cpus_data: { cpu: [1, 2, 3] } } },
  },
  {
    type: 72,
    name: "AUXTRACE_ERROR",
    misc: 0,
    body: {
      type: 1,
      code: 5,
      cpu: 2,
      pid: 77,
      tid: 78,
      fmt: 1,
      ip: 0xffff_ffff_8100_0000n,
      time: 12_000_000_345n,
      msg: "Overflow packet",
    },
  },
  {
    type: 72,
    name: "AUXTRACE_ERROR",
    misc: 0,
    body: { type: 1, code: 6, cpu: -1, pid: 77, tid: 78, fmt: 0, ip: 0x400000n, msg: "Lost" },
  },
  {
    type: 72,
    name: "AUXTRACE_ERROR",
    misc: 0,
    body: {
      type: 1,
      code: 7,
      cpu: 2,
      pid: 77,
      tid: 78,
      fmt: 2,
      ip: 0x400000n,
      time: 1n,
      msg: "In a guest",
      machine_pid: 4242,
      vcpu: 3,
    },
  },
  { type: 68, name: "FINISHED_ROUND", misc: 0, body: {} },
];

/** The words of three traces, each for its own file. */
function auxtraceInfos(littleEndian: boolean): UserRecord[] {
  const time = { time_shift: 31n, time_mult: 1789569706n, time_zero: 0xffff_fff8_6343_cb91n };
  const pt = {
    pmu_type: 6n,
    ...time,
    cap_user_time_zero: 1n,
    tsc_bit: 0x400n,
    noretcomp_bit: 0x800n,
    have_sched_switch: 3n,
    snapshot_mode: 0n,
    per_cpu_mmaps: 1n,
    mtc_bit: 0x200n,
    mtc_freq_bits: 0x3c000n,
    tsc_ctc_n: 100n,
    tsc_ctc_d: 2n,
    cyc_bit: 2n,
    max_nonturbo_ratio: 12n,
    // perf cannot read the filter in a file of the other byte order.
    ...(littleEndian
      ? { filter_str_len: 28n, filter: "filter 0x1000/0x20@/bin/true" }
      : { filter_str_len: 0n }),
    cap_event_trace: 1n,
  };
  const bts = { pmu_type: 7n, ...time, cap_user_time_zero: 1n, snapshot_mode: 0n };
  const record = (type: number, priv: bigint[]): UserRecord => ({
    type: 70,
    name: "AUXTRACE_INFO",
    misc: 0,
    body: { type, priv },
  });
  return [
    record(1, privWords(intelPtPriv, pt, { littleEndian })),
    record(1, privWords(intelPtPriv, pt, { littleEndian }).slice(0, 10)),
    record(2, privWords(intelBtsPriv, bts)),
    record(4, privWords(armSpePrivV1, { pmu_type: 8n, per_cpu_mmaps: 1n })),
  ];
}

async function fileOf(records: UserRecord[], littleEndian: boolean): Promise<Uint8Array> {
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, {
    littleEndian,
    attrSize: 128,
    events: [{
      attr: {
        ...attr,
        size: 128,
        type: 1,
        sample_type: 0x1_0007n,
        flags: { ...attr.flags, sample_id_all: true },
      },
      ids: [5n, 6n],
    }],
  });
  for (const record of records) await writer.write(codec.encode(record, { littleEndian }));
  await writer.close();
  return sink.bytes();
}

for (const littleEndian of [true, false]) {
  Deno.test({
    name: `perf prints the values of the records that were written, ${
      littleEndian ? "little" : "big"
    }-endian`,
    ignore: !withPerf,
    async fn() {
      const folder = await Deno.makeTempDir();
      try {
        const compared = new Map<string, number>();
        // One file each, since a record that perf refuses ends its dump.
        const contents = [...WRITTEN, ...auxtraceInfos(littleEndian)].map((record) => [record]);
        for (const records of contents) {
          const bytes = await fileOf(records, littleEndian);
          await Deno.writeFile(`${folder}/perf.data`, bytes);
          // perf report skips these.
          const args = records[0]?.name === "AUXTRACE_ERROR" ? ["script", "-D"] : REPORT;
          const output = await perfText(args, `${folder}/perf.data`);
          assert(output !== undefined);
          compare((await userRecords(bytes)).found, output.stdout, littleEndian, compared);
        }
        const expected = new Map<string, number>();
        for (const [record] of contents) {
          if (record === undefined || perfLines(record, littleEndian) === undefined) continue;
          expected.set(record.name, (expected.get(record.name) ?? 0) + 1);
        }
        assertEquals(compared, expected);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "perf stat record: the records of a recording equal perf's output",
  ignore: !withPerf,
  async fn(t) {
    const folder = await Deno.makeTempDir();
    try {
      const path = `${folder}/perf.data`;
      const { code, stderr } = await new Deno.Command("sh", {
        args: [
          "-c",
          'ulimit -v 8000000; exec timeout 300 perf stat record -o "$0" "$@"',
          path,
          ...["-e", "task-clock,context-switches", "-I", "20", "sleep", "0.1"],
        ],
        env: { LC_ALL: "C" },
        stdout: "null",
        stderr: "piped",
      }).output();
      if (code !== 0) {
        await skipped(t, `perf cannot count here: ${new TextDecoder().decode(stderr).trim()}`);
        return;
      }
      const bytes = await Deno.readFile(path);
      const output = await perfText(REPORT, path);
      assert(output !== undefined);
      const compared = new Map<string, number>();
      compare((await userRecords(bytes)).found, output.stdout, true, compared);
      for (const name of ["STAT_CONFIG", "STAT", "STAT_ROUND", "EVENT_UPDATE", "THREAD_MAP"]) {
        assert((compared.get(name) ?? 0) > 0, `perf printed no ${name}`);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
