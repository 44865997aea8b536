/**
 * `export perfetto`, decoded by another library, and by Perfetto's own schema if that is installed.
 */
import { assert, assertEquals } from "@std/assert";
import protobuf from "npm:protobufjs@8.8.1";
import type { EncodeOptions } from "../../fixtures/stepped/encode.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { movedInTime, steppedRecording } from "../../fixtures/stepped/recording.ts";
import { asFile } from "../../fixtures/synthesize/recording.ts";
import { ignored } from "../support/ignored.ts";
import { inFolder, tool } from "../support/tool.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const SCHEMA = protobuf.parse(
  Deno.readTextFileSync(new URL("../support/perfetto.proto", import.meta.url)),
  { keepCase: true },
).root.lookupType("perfdata.tests.Trace");

/** An entry of `InternedData`. Numbers are strings, since they may exceed 2^53. */
interface Entry {
  readonly iid: string;
  readonly str?: string;
  readonly function_name_id?: string;
  readonly mapping_id?: string;
  readonly frame_ids?: readonly string[];
  readonly path_string_ids?: readonly string[];
  readonly build_id?: string;
}

/** The fields of a packet that tests read. */
interface Packet {
  readonly timestamp?: string;
  readonly trusted_packet_sequence_id?: number;
  readonly sequence_flags?: number;
  readonly process_tree?: { readonly threads: readonly { readonly tid: number }[] };
  readonly clock_snapshot?: {
    readonly clocks: readonly { readonly clock_id: number; readonly timestamp: string }[];
  };
  readonly track_event?: {
    readonly type: number;
    readonly name_iid?: string;
    readonly debug_annotations?: readonly {
      readonly name_iid: string;
      readonly uint_value?: string;
      readonly string_value?: string;
    }[];
  };
  readonly interned_data?: Readonly<Record<string, readonly Entry[]>>;
  readonly trace_packet_defaults?: {
    readonly track_event_defaults?: { readonly track_uuid: string };
    readonly timestamp_clock_id?: number;
  };
  readonly track_descriptor?: {
    readonly uuid: string;
    readonly thread?: { readonly tid: number; readonly thread_name: string };
  };
  readonly perf_sample?: {
    readonly tid: number;
    readonly callstack_iid?: string;
    readonly cpu_mode?: number;
  };
}

function packetsOf(bytes: Uint8Array): Packet[] {
  return SCHEMA.toObject(SCHEMA.decode(bytes), { longs: String, bytes: Array })
    .packet as Packet[];
}

/** Names that a sequence of packets has defined, by kind and `iid`. */
class Told {
  readonly #of = new Map<string, Entry>();

  take(packet: Packet): void {
    for (const [kind, entries] of Object.entries(packet.interned_data ?? {})) {
      for (const entry of entries) {
        this.#of.set(`${packet.trusted_packet_sequence_id} ${kind} ${entry.iid}`, entry);
      }
    }
  }

  find(packet: Packet, kind: string, iid: string | undefined): Entry {
    const entry = this.#of.get(`${packet.trusted_packet_sequence_id} ${kind} ${iid}`);
    assert(entry !== undefined, `${kind} ${iid} was not told`);
    return entry;
  }
}

/** Perfetto's schema from its Python package. */
const PUBLISHED = "perfetto.protos.perfetto.trace.perfetto_trace_pb2";
function published(): string | undefined {
  try {
    const { success } = new Deno.Command("python3", {
      args: ["-c", `import ${PUBLISHED}`],
      stderr: "null",
    }).outputSync();
    return success ? undefined : "python3 has no package perfetto";
  } catch {
    return "no python3";
  }
}

interface Call {
  readonly tid: number;
  readonly time: number | bigint;
  readonly duration: number;
  readonly depth: number;
  readonly function: string;
  readonly insns: number;
  readonly returned?: false;
}

/** The slices of a trace in the order of their ends, in the form of `pt --calls --json`. */
function slices(packets: readonly Packet[]): Call[] {
  const told = new Told();
  const clock = new Map<number, bigint>();
  const tidOf = new Map<string, number>();
  const trackOf = new Map<number, string>();
  const open = new Map<number, { name: string; time: bigint }[]>();
  const calls: Call[] = [];
  for (const packet of packets) {
    const { trusted_packet_sequence_id: sequence = 0, track_event: event } = packet;
    if (packet.sequence_flags === 1) {
      const { track_event_defaults, timestamp_clock_id } = packet.trace_packet_defaults ?? {};
      assertEquals(timestamp_clock_id, 64);
      trackOf.set(sequence, track_event_defaults?.track_uuid ?? "");
    }
    for (const { clock_id, timestamp } of packet.clock_snapshot?.clocks ?? []) {
      if (clock_id === 64) clock.set(sequence, BigInt(timestamp));
      else assertEquals(BigInt(timestamp), clock.get(sequence));
    }
    const { uuid = "", thread } = packet.track_descriptor ?? {};
    if (thread !== undefined) {
      assertEquals(thread.thread_name, "stepped");
      tidOf.set(uuid, thread.tid);
    }
    told.take(packet);
    if (event === undefined) continue;
    assertEquals(packet.sequence_flags, 2);
    const time = (clock.get(sequence) ?? 0n) + BigInt(packet.timestamp ?? "");
    clock.set(sequence, time);
    const stack = open.get(sequence) ?? [];
    open.set(sequence, stack);
    if (event.type === 1) {
      stack.push({ name: told.find(packet, "event_names", event.name_iid).str ?? "", time });
      continue;
    }
    assertEquals(event.type, 2);
    const begun = stack.pop();
    assert(begun !== undefined, "an end without a beginning");
    const args = new Map(
      (event.debug_annotations ?? []).map((of) => [
        told.find(packet, "debug_annotation_names", of.name_iid).str,
        of.uint_value ?? of.string_value,
      ]),
    );
    calls.push({
      tid: tidOf.get(trackOf.get(sequence) ?? "") ?? -1,
      time: begun.time,
      duration: Number(time - begun.time),
      depth: stack.length,
      function: begun.name,
      insns: Number(args.get("insns")),
      ...(args.has("end") ? { returned: false } : {}),
    });
  }
  return calls;
}

const VARIANT: EncodeOptions = {
  psbEvery: 5000,
  compressReturns: true,
  tsc: true,
  mtc: true,
  cyc: true,
};

Deno.test(
  "export perfetto: slices are the calls of the trace, with their times, depths and instructions",
  ignored(cannotStep()),
  async () => {
    let compared = 0;
    for (
      const [program, by] of [["calls", 0n], ["processes", 1_700_000_000_000_000_000n]] as const
    ) {
      await inFolder(async (cwd) => {
        const stepped = stepProgram(cwd, { program, flags: ["-O1", "-static"] });
        const encoded = encodeProgram(stepped, VARIANT);
        const recording = movedInTime(steppedRecording(stepped, encoded, VARIANT), by);
        Deno.writeFileSync(`${cwd}/perf.data`, await asFile(recording, true));
        const { out } = await tool("pt", ["--calls", "--json", "perf.data"], { cwd });
        const expected = out.trimEnd().split("\n").map((line) => {
          // Times exceed the precision of a number.
          const of = JSON.parse(line.replace(/"time":(\d+)/, '"time":"$1"'));
          const { tid, time, duration, depth, insns, function: name, returned } = of;
          const ended = returned === false ? { returned } : {};
          return { tid, time: BigInt(time), duration, depth, function: name, insns, ...ended };
        });
        const { code, stdout, err } = await tool("export", ["perfetto", "-o", "-", "perf.data"], {
          cwd,
        });
        assertEquals(code, 0, err);
        const found = slices(packetsOf(stdout));
        // A thread that begins within calls has enclosing ones, which have no slice.
        const flat = (calls: readonly Call[]) => calls.map(({ depth: _, ...call }) => call);
        assertEquals(flat(found), flat(expected));
        const depths = new Map<number, number>();
        for (const [i, { tid, depth }] of expected.entries()) {
          const around = depth - (found[i]?.depth ?? 0);
          assertEquals(depths.get(tid) ?? around, around);
          depths.set(tid, around);
        }
        compared += found.length;
        const chrome = await tool("export", ["chrome", "-o", "-", "perf.data"], { cwd });
        assert(stdout.length * 2 < chrome.stdout.length, `${stdout.length} bytes`);
      });
    }
    console.log(`perfetto: ${compared} calls`);
    assert(compared > 2000);
  },
);

const RECORDINGS = ["callchain", "two-events", "dwarf", "clock", "zstd", "all-cpus"];

/** Samples by thread and stack, as lines of `export folded --samples --with-tid`. */
function folded(packets: readonly Packet[]): Map<string, number> {
  const told = new Told();
  const counts = new Map<string, number>();
  for (const packet of packets) {
    told.take(packet);
    const { perf_sample: sample } = packet;
    if (sample === undefined || packet.trusted_packet_sequence_id !== 1) continue;
    const stack = sample.callstack_iid === undefined
      ? []
      : told.find(packet, "callstacks", sample.callstack_iid).frame_ids ?? [];
    const names = stack.map((iid) => {
      const { function_name_id, mapping_id } = told.find(packet, "frames", iid);
      const { path_string_ids = [] } = told.find(packet, "mappings", mapping_id);
      assertEquals(path_string_ids.length, 1);
      told.find(packet, "mapping_paths", path_string_ids[0]);
      return told.find(packet, "function_names", function_name_id).str?.replaceAll(";", ":");
    });
    const key = [sample.tid, ...names].join(";");
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

Deno.test("export perfetto: samples have the threads, stacks and times of folded", async () => {
  let compared = 0;
  for (const name of RECORDINGS) {
    const file = `fixtures/recorded/${name}.perf.data`;
    const { stdout, err } = await tool("export", ["perfetto", "-o", "-", file]);
    const packets = packetsOf(stdout);
    const lines = await tool("export", ["folded", "--samples", "--inline", "--with-tid", file]);
    const expected = new Map(
      lines.out.trimEnd().split("\n").map((line) => {
        const [, stack = "", count] = /^(.*) (\d+)$/.exec(line) ?? [];
        return [
          stack.replace(/^[^;]*?-\??-?\d*\/(\d+)/, "$1").replaceAll("_[i]", ""),
          Number(count),
        ];
      }),
    );
    assertEquals(folded(packets), expected, `${name}: ${err}`);
    const records = await tool("records", ["--type", "SAMPLE", file]);
    const times = records.out.trimEnd().split("\n")
      .map((line) => /"time":"?(\d+)/.exec(line)?.[1] ?? "").sort();
    const found = packets.filter((of) => of.perf_sample !== undefined)
      .map(({ timestamp = "" }) => timestamp).sort();
    assertEquals(found, times);
    compared += times.length;
  }
  console.log(`perfetto: ${compared} samples`);
  assert(compared > 50);
});

Deno.test(
  "export perfetto: Perfetto's own schema knows each field",
  ignored(published() ?? cannotStep()),
  async () => {
    const script = `
import sys
from ${PUBLISHED.replace(/\.\w+$/, "")} import ${PUBLISHED.replace(/.*\./, "")} as schema
from google.protobuf.unknown_fields import UnknownFieldSet
def look(message):
    assert len(UnknownFieldSet(message)) == 0, message
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE: continue
        for part in (value if hasattr(value, "add") else [value]): look(part)
trace = schema.Trace()
trace.ParseFromString(sys.stdin.buffer.read())
look(trace)
print(len(trace.packet))
`;
    let packets = 0;
    const look = async (file: string) => {
      const { stdout } = await tool("export", ["perfetto", "-o", "-", file]);
      const child = new Deno.Command("python3", {
        args: ["-c", script],
        stdin: "piped",
        stdout: "piped",
      }).spawn();
      const writer = child.stdin.getWriter();
      await writer.write(stdout);
      await writer.close();
      const { success, stdout: printed } = await child.output();
      assert(success, file);
      assertEquals(Number(new TextDecoder().decode(printed)), packetsOf(stdout).length);
      packets += packetsOf(stdout).length;
    };
    for (const name of RECORDINGS) await look(`${ROOT}fixtures/recorded/${name}.perf.data`);
    await inFolder(async (cwd) => {
      const stepped = stepProgram(cwd, { program: "calls", flags: ["-O1", "-static"] });
      const encoded = encodeProgram(stepped, VARIANT);
      Deno.writeFileSync(
        `${cwd}/perf.data`,
        await asFile(steppedRecording(stepped, encoded, VARIANT), true),
      );
      await look(`${cwd}/perf.data`);
    });
    assert(packets > 2000);
  },
);
