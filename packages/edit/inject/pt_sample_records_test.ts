import { assertEquals, assertThrows } from "@std/assert";
import { bytesSource, memorySink, PerfDataError } from "@perfdata/format/bytes";
import { KERNEL_RECORDS, PerfDataReader, RecordCodec } from "@perfdata/format/records";
import { PERF_SAMPLE_IDENTIFIER } from "@perfdata/format/constants";
import { parseItrace } from "@perfdata/pt";
import { at, BASE, ip, psb, small, tnt, tsc } from "../../pt/testing.ts";
import { copyRecording } from "../copy/copy.ts";
import { FileOutput } from "../copy/recording_output.ts";
import { PtSampleRecords } from "./pt_sample_records.ts";

/** 1000 calls 1010, which returns to 1005; that calls 1010, which returns to 100a; that jumps to 1000. */
const PACKETS = [...psb(0, BASE), tsc(1000), tnt("11"), ip("TIP", BASE)];

const hex = (address: bigint) => address.toString(16);

/** The recording with samples: names of its events, types of its records, and its samples. */
async function written(letters: string, tids?: ReadonlySet<number>) {
  const { trace } = await small({ cpus: [PACKETS] });
  const edit = new PtSampleRecords(trace, parseItrace(letters), { filter: { tids } });
  const sink = memorySink();
  await copyRecording(trace.engine.reader, new FileOutput(sink), { edit });
  const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
  const codec = new RecordCodec(KERNEL_RECORDS);
  const types = new Set<number>();
  const samples: string[] = [];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      types.add(batch.type(i));
      const record = codec.decode(batch.recordBytes(i).slice(), batch.context(i));
      if (record.name !== "SAMPLE") continue;
      const { ip = 0n, tid, time = 0n, addr, cpu, period, callchain, branch_stack } = record.body;
      samples.push([
        `${record.misc} ${hex(ip)} ${tid}/${cpu} +${time - at(0)} ${period}`,
        ...(addr === undefined ? [] : [`to ${hex(addr)}`]),
        ...(callchain === undefined
          ? []
          : [`[${callchain.map((a) => hex(BigInt.asUintN(64, a)))}]`]),
        ...(branch_stack === undefined
          ? []
          : [branch_stack.entries.map(({ from, to }) => `${hex(from)}>${hex(to)}`).join(" ")]),
      ].join(" "));
    }
  }
  return { samples, types, made: edit.samples, events: reader.events.all.length };
}

Deno.test("PtSampleRecords: branches have source, target, thread, CPU, time and a branch stack of one", async () => {
  const { samples, types, made, events } = await written("bl");
  assertEquals(samples, [
    // A direct call needs no packet: its time is the one before.
    "2 1000 7/0 +0 1 to 1010 1000>1010",
    "2 1012 7/0 +372 1 to 1005 1012>1005",
    "2 1005 7/0 +372 1 to 1010 1005>1010",
    "2 1012 7/0 +372 1 to 100a 1012>100a",
    "2 100a 7/0 +372 1 to 1000 100a>1000",
  ]);
  assertEquals([made, events], [5, 3]);
  // Neither AUXTRACE_INFO nor AUXTRACE is left.
  assertEquals([types.has(70), types.has(71)], [false, false]);
});

Deno.test("PtSampleRecords: instructions have their period, callers after their own address, the newest branches", async () => {
  const { samples } = await written("i3igl2");
  const user = "fffffffffffffe00";
  // Each third of 1000 1010 1011 1012 1005 1010 1011 1012 100a.
  assertEquals(samples.map((line) => line.replace(/\+\S+ /, "")), [
    `2 1011 7/0 3 [${user},1011,1005] 1000>1010`,
    `2 1010 7/0 3 [${user},1010,100a] 1005>1010 1012>1005`,
    `2 100a 7/0 3 [${user},100a] 1012>100a 1005>1010`,
  ]);
});

Deno.test("PtSampleRecords: two kinds of samples are two events; other threads have none", async () => {
  const both = await written("bi1i");
  assertEquals([both.events, both.made], [4, 5 + 9]);
  assertEquals((await written("b", new Set([8]))).made, 0);
});

Deno.test("PtSampleRecords: a recording whose samples have no identifier throws", async () => {
  const { trace } = await small({ cpus: [PACKETS] });
  for (const { attr } of trace.engine.reader.events.all) {
    (attr as { sample_type: bigint }).sample_type &= ~BigInt(PERF_SAMPLE_IDENTIFIER);
  }
  assertThrows(() => new PtSampleRecords(trace, parseItrace("b")), PerfDataError, "no identifier");
});
