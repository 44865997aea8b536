/** Newlines in names cannot forge lines of text that has one line per record or sample. */
import { assert, assertEquals } from "@std/assert";
import {
  emptyAttr,
  KERNEL_RECORDS,
  PerfDataWriter,
  PerfEvent,
  RecordCodec,
} from "@perfdata/format/records";
import { memorySink } from "@perfdata/format/bytes";
import { PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME } from "@perfdata/format/constants";
import { inFolder, tool } from "../support/tool.ts";

/** A thread with a name that maps a file with another, and is sampled there. */
async function recording(comm: string, path: string): Promise<Uint8Array> {
  const attr = {
    ...emptyAttr(),
    size: 128,
    sample_type: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME),
    sample_period: 1n,
    flags: { ...emptyAttr().flags, sample_id_all: true },
  };
  const event = new PerfEvent(attr, []);
  const codec = new RecordCodec(KERNEL_RECORDS);
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
  const write = (record: Parameters<typeof codec.encode>[0]) =>
    writer.write(codec.encode(record, { littleEndian: true, event }));
  const sample_id = { pid: 7, tid: 7, time: 1000n };
  await write({ type: 3, name: "COMM", misc: 0, body: { pid: 7, tid: 7, comm }, sample_id });
  const map = { pid: 7, tid: 7, addr: 0x1000n, len: 0x9000n, pgoff: 0n, filename: path };
  await write({ type: 1, name: "MMAP", misc: 2, body: map, sample_id });
  for (let k = 0n; k < 5n; k++) {
    const body = { ip: 0x1234n + k, pid: 7, tid: 7, time: 2000n + k };
    await write({ type: 9, name: "SAMPLE", misc: 2, body });
  }
  await writer.close();
  return sink.bytes();
}

const COMMANDS: readonly (readonly string[])[] = [
  ["dump"],
  ["script"],
  ["records"],
  ["records", "--csv"],
  ["export", "folded"],
  ["funcs"],
  ["tree"],
  ["info"],
];

Deno.test("names: a newline in a name forges no line", async () => {
  await inFolder(async (folder) => {
    const lines = async (comm: string, path: string, [name = "", ...args]: readonly string[]) => {
      const data = `${folder}/perf.data`;
      Deno.writeFileSync(data, await recording(comm, path));
      const { code, out, err } = await tool(name, [...args, data]);
      assertEquals(code, 0, `${name}: ${err}`);
      return out.split("\n");
    };
    let compared = 0;
    for (const args of COMMANDS) {
      const plain = await lines("ab", "/no/suchfile", args);
      const forged = await lines("a\nb", "/no/such\nfile", args);
      assertEquals(forged.length, plain.length, `${args.join(" ")}:\n${forged.join("\n")}`);
      assert(plain.length > 1, args.join(" "));
      compared++;
    }
    assertEquals(compared, COMMANDS.length);
  });
});
