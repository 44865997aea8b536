/**
 * Writes a recording with Intel PT of four CPUs: `deno run -A bench/make_pt.ts MB FILE`.
 *
 * Its pieces have 2 MB, like perf's from a half-full buffer of 4 MB.
 */
import { emptyAttr, KERNEL_RECORDS, PerfDataWriter, RecordCodec } from "@perfdata/format/records";
import { fileSink } from "@perfdata/format/files";
import { USER_RECORDS } from "@perfdata/user-records";
import { ptBytes, ptStream } from "../fixtures/synthesize/pt_stream.ts";

const PIECE = 2 << 20;

const codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);

/**
 * Writes the recording.
 *
 * @param payload Path for a separate copy of the PT data.
 * @returns Number of bytes of PT data.
 */
export async function makePt(megabytes: number, path: string, payload?: string): Promise<number> {
  const unit = ptBytes(ptStream({ seed: 1, tsc: 1n, packets: 100_000 })).bytes;
  const piece = new Uint8Array(PIECE);
  for (let at = 0; at < PIECE; at += unit.length) {
    piece.set(unit.subarray(0, Math.min(unit.length, PIECE - at)), at);
  }
  using sink = fileSink(path);
  using copy = payload === undefined ? undefined : fileSink(payload);
  const writer = await PerfDataWriter.file(sink, {
    events: [{ attr: { ...emptyAttr(), type: 8 } }],
  });
  const words = [8n, 31n, 7n, 0n, 1n, 0x400n, 0x800n, 3n, 0n, 1n];
  await writer.write(codec.encode({
    type: 70,
    name: "AUXTRACE_INFO",
    misc: 0,
    body: { type: 1, priv: words },
  }));
  const count = Math.ceil(megabytes * 1e6 / PIECE);
  for (let i = 0; i < count; i++) {
    const cpu = i & 3;
    const offset = BigInt((i >> 2) * PIECE);
    await writer.write(codec.encode({
      type: 71,
      name: "AUXTRACE",
      misc: 0,
      body: { size: BigInt(PIECE), offset, reference: BigInt(i), idx: cpu, tid: -1, cpu },
    }));
    await writer.write(piece);
    copy?.write(piece);
  }
  await writer.close();
  return count * PIECE;
}

if (import.meta.main) {
  const [megabytes, path] = Deno.args;
  if (path === undefined) {
    console.error("usage: deno run -A bench/make_pt.ts MB FILE");
    Deno.exit(2);
  }
  await makePt(Number(megabytes), path);
}
