/**
 * Synthesized AUX data of other traces than Intel PT, compared with the installed perf, which
 * decodes them on any machine.
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { dump } from "@perfdata/dump";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader, PerfDataWriter, RecordCodec } from "@perfdata/format/records";
import {
  PERF_AUXTRACE_ARM_SPE,
  PERF_AUXTRACE_HISI_PTT,
  PERF_AUXTRACE_INTEL_BTS,
  USER_RECORDS,
} from "@perfdata/user-records";
import { perfVersion } from "../support/perf.ts";

/** A kind of AUX data, with its AUXTRACE_INFO. */
interface Kind {
  readonly type: number;
  readonly priv: readonly bigint[];
}

const SPE: Kind = { type: PERF_AUXTRACE_ARM_SPE, priv: [8n, 1n] };
const BTS: Kind = { type: PERF_AUXTRACE_INTEL_BTS, priv: [8n, 0n, 0n, 0n, 0n, 0n] };
const PTT: Kind = { type: PERF_AUXTRACE_HISI_PTT, priv: [8n] };

/** A file or pipe with pieces of AUX data of a kind. */
async function recording(
  { type, priv }: Kind,
  pieces: readonly Uint8Array[],
  isPipe: boolean,
): Promise<Uint8Array<ArrayBuffer>> {
  const sink = memorySink();
  const codec = new RecordCodec(USER_RECORDS);
  const empty = emptyAttr();
  const attr = {
    ...empty,
    size: 128,
    type: 1,
    config: 9n,
    sample_type: 0x10007n,
    flags: { ...empty.flags, sample_id_all: true },
  };
  const writer = isPipe
    ? await PerfDataWriter.pipe(sink)
    : await PerfDataWriter.file(sink, { events: [{ attr, ids: [1n] }] });
  if (isPipe) {
    await writer.write(codec.encode({
      type: 64,
      name: "HEADER_ATTR",
      misc: 0,
      body: { attr, id: [1n] },
    }));
  }
  await writer.write(codec.encode({
    type: 70,
    name: "AUXTRACE_INFO",
    misc: 0,
    body: { type, priv: [...priv] },
  }));
  let offset = 0n;
  for (const piece of pieces) {
    await writer.write(codec.encode({
      type: 71,
      name: "AUXTRACE",
      misc: 0,
      body: { size: BigInt(piece.length), offset, reference: 1n, idx: 0, tid: 7, cpu: 0 },
    }));
    await writer.write(piece);
    offset += BigInt(piece.length);
  }
  await writer.close();
  return sink.bytes();
}

async function compare(
  kind: Kind,
  pieces: readonly Uint8Array[],
  isPipe = false,
): Promise<string> {
  const bytes = await recording(kind, pieces, isPipe);
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-aux-" });
  try {
    const path = `${folder}/perf.data`;
    Deno.writeFileSync(path, bytes);
    const { stdout } = await new Deno.Command("sh", {
      args: [
        "-c",
        "ulimit -v 8000000; cat perf.data | timeout 300 perf report -D --no-children -g none " +
        `--kallsyms=/dev/null -i ${isPipe ? "-" : "perf.data"}`,
      ],
      cwd: folder,
      env: { LC_ALL: "C", PERF_BUILDID_DIR: folder, PAGER: "cat" },
    }).output();
    const decoder = new TextDecoder("latin1");
    let own = "";
    const reader = await PerfDataReader.open(bytesSource(bytes));
    const stats = await dump(reader, {
      path: "perf.data",
      write: (text) => void (own += decoder.decode(text)),
    });
    assertEquals(own, decoder.decode(stdout));
    assertEquals(stats.undecodedAux, 0);
    return own;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const ignore = perfVersion() === undefined;

/** Pieces are aligned to 8 bytes, as in recordings. */
const whole = (bytes: number[]): Uint8Array =>
  Uint8Array.from([...bytes, ...new Array(-bytes.length & 7).fill(0)]);

/** Padding up to addresses with several alignments, from several offsets. */
const alignments = whole(
  [0x23, 0x00, 0, 0, 0, 0, 0, 1, 0x22, 0x00, 0, 1, 1, 0x21, 0, 0, 0, 0, 0, 0x20, 0],
);

Deno.test({
  name: "dump, Arm SPE: each header and each bit of a payload print as in perf",
  ignore,
  async fn() {
    const bytes: number[] = [];
    for (let first = 0; first < 256; first++) {
      for (const fill of [0x00, 0x5a, 0xff]) {
        bytes.push(first, ...new Array(8).fill(fill), 0x01);
      }
    }
    // Extended headers of addresses and counters.
    for (let first = 0x20; first < 0x24; first++) {
      for (let second = 0x90; second < 0x100; second++) {
        bytes.push(first, second, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0);
      }
    }
    // Operation types, events: all low bytes.
    for (let payload = 0; payload < 256; payload++) {
      for (const kind of [0x48, 0x49, 0x4a, 0x4b]) bytes.push(kind, payload);
      bytes.push(0x62, payload, 0x00, payload >> 5, 0x00, 0xb3, 1, 2, 3, 4, 5, 6, payload, payload);
    }
    const text = await compare(SPE, [
      whole(bytes),
      alignments,
      whole([0x71, 1, 2, 3]),
    ]);
    // In a pipe, offsets count from the start of the data.
    await compare(SPE, [whole([1]), alignments], true);
    for (const word of ["PC 0x", "PA 0x", "EV ", "SVE-OTHER", "Bad packet!", "XLAT", "PAD"]) {
      assertEquals(text.includes(word), true, word);
    }
  },
});

Deno.test({
  name: "dump: any AUX data of SPE, BTS and PTT print as in perf",
  ignore,
  async fn() {
    const piece = fc.uint8Array({ minLength: 8, maxLength: 3000 });
    const pieces = fc.array(piece, { minLength: 1, maxLength: 3 });
    for (const kind of [SPE, BTS, PTT]) {
      await fc.assert(
        fc.asyncProperty(pieces, fc.boolean(), async (bytes, isPipe) => {
          await compare(kind, bytes.map((one) => whole([...one])), isPipe);
        }),
        { numRuns: 25 },
      );
    }
  },
});

Deno.test({
  name: "dump: Intel BTS and HiSilicon PTT print as in perf",
  ignore,
  async fn() {
    const branches = new Uint8Array(24 * 4000 + 8);
    const view = new DataView(branches.buffer);
    for (let i = 0; i < 4000; i++) {
      view.setBigUint64(24 * i, 0x401000n + BigInt(i * 7), true);
      view.setBigUint64(24 * i + 8, i % 2 ? 0xffffffff81000000n : 0x402000n, true);
      view.setBigUint64(24 * i + 16, i % 3 ? 0x10n : 0n, true);
    }
    await compare(BTS, [branches]);
    const long = new Uint8Array(32 * 20 + 8).map((_, i) => i % 251);
    for (let i = 0; i < 20; i++) new DataView(long.buffer).setUint32(32 * i, 0xffff_ffff, true);
    const short = new Uint8Array(16 * 20 + 8).map((_, i) => i * 7 % 253);
    await compare(PTT, [long, short]);
  },
});
