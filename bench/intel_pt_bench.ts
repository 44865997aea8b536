/**
 * Measures `@perfdata/intel-pt`: decoding packets, and formatting them as text.
 *
 *     deno run -A bench/intel_pt_bench.ts [FILE of raw Intel PT bytes]...
 *
 * Without a file, it uses a generated stream: one PSB every 2 KB; three of four bytes are short
 * TNTs, the rest TIP, FUP, CYC, MTC and padding. Installed peers are measured on the same
 * bytes: `ptdump` (or the path in `PTDUMP`). Each result is the best of several rounds.
 */

import {
  encodePackets,
  type Packet,
  PacketDecoder,
  PacketKind,
  PerfText,
  PtdumpText,
} from "@perfdata/intel-pt";

const ROUNDS = 7;
/** Number of input bytes per round; short files are decoded repeatedly. */
const ROUND_BYTES = 30e6;

/** Generates a stream of about `size` bytes, the same in every run. */
function madeUp(size: number): Uint8Array {
  let state = 1;
  const random = (below: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  const packets: Packet[] = [];
  for (let bytes = 0, sincePsb = 2048; bytes < size;) {
    if (sincePsb >= 2048) {
      packets.push({ type: "PSB" }, { type: "TSC", tsc: BigInt(bytes) }, { type: "PSBEND" });
      bytes += 26;
      sincePsb = 0;
    }
    let length = 1;
    const choice = random(100);
    if (choice < 93) {
      const count = 1 + random(6);
      packets.push({ type: "TNT", long: false, count, bits: BigInt(random(1 << count)) });
    } else if (choice < 97) {
      const payload = BigInt(random(0x10000));
      packets.push({ type: choice < 96 ? "TIP" : "FUP", compression: 1, payload });
      length = 3;
    } else if (choice === 97) {
      packets.push({ type: "TIP", compression: 3, payload: 0x7f0000000000n + BigInt(random(1e6)) });
      length = 7;
    } else if (choice === 98) {
      packets.push({ type: "CYC", cycles: BigInt(random(4096)) });
      length = 2;
    } else {
      packets.push({ type: "MTC", ctc: random(256) }, { type: "PAD" }, { type: "PAD" });
      length = 4;
    }
    bytes += length;
    sincePsb += length;
  }
  return encodePackets(packets);
}

function best(bytes: number, run: () => number): { seconds: number; result: number } {
  const times = Math.max(1, Math.round(ROUND_BYTES / bytes));
  let seconds = Infinity;
  let result = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    for (let i = 0; i < times; i++) result = run();
    seconds = Math.min(seconds, (performance.now() - start) / 1000 / times);
  }
  return { seconds, result };
}

function show(what: string, bytes: number, seconds: number, more: string): void {
  const rate = (bytes / 1e6 / seconds).toFixed(1).padStart(8);
  console.log(`  ${what.padEnd(28)}${rate} MB/s${more}`);
}

/** Result of all reads, so that the compiler cannot remove them. */
let checksum = 0;

function decodeAll(stream: Uint8Array): number {
  const decoder = new PacketDecoder();
  decoder.feed(stream);
  decoder.end();
  let packets = 0;
  let sum = 0;
  for (let kind = decoder.next(); kind > PacketKind.END; kind = decoder.next()) {
    sum ^= kind ^ decoder.low ^ decoder.high ^ decoder.count;
    packets++;
  }
  checksum = (checksum + sum) | 0;
  return packets;
}

function writeAll(text: PerfText | PtdumpText, stream: Uint8Array, out: Uint8Array): number {
  let written = 0;
  for (let from = 0; from < stream.length; from += text.consumed) {
    written += text.write(stream, from, stream.length, true, out, 0);
  }
  return written;
}

const files = Deno.args.length > 0 ? Deno.args : [undefined];
for (const file of files) {
  const stream = file === undefined ? madeUp(4e6) : Deno.readFileSync(file);
  const size = stream.length;
  console.log(`${file ?? "made-up stream"}: ${size} bytes`);
  const out = new Uint8Array(1 << 18);

  const decoded = best(size, () => decodeAll(stream));
  const millions = (decoded.result / 1e6 / decoded.seconds).toFixed(0);
  show("PacketDecoder", size, decoded.seconds, `  ${millions} M packets/s`);
  const perf = best(size, () => writeAll(new PerfText(), stream, out));
  const perfRate = (perf.result / 1e6 / perf.seconds).toFixed(0);
  show("PerfText", size, perf.seconds, `  ${perfRate} MB/s of text`);
  const ptdump = best(size, () => writeAll(new PtdumpText(), stream, out));
  const ptdumpRate = (ptdump.result / 1e6 / ptdump.seconds).toFixed(0);
  show("PtdumpText", size, ptdump.seconds, `  ${ptdumpRate} MB/s of text`);

  const command = Deno.env.get("PTDUMP") ?? "ptdump";
  const temporary = Deno.makeTempFileSync();
  try {
    Deno.writeFileSync(temporary, stream);
    const start = performance.now();
    new Deno.Command(command, { args: [temporary], stdout: "null" }).outputSync();
    show("ptdump, one run", size, (performance.now() - start) / 1000, "");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.log(`  no ${command}: not compared`);
  } finally {
    Deno.removeSync(temporary);
  }
}
console.log(`checksum ${checksum}`);
