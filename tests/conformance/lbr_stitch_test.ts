/** Call stacks deeper than the processor's branch registers (LBR), compared with perf's. */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr, KERNEL_RECORDS, PerfDataWriter, RecordCodec } from "@perfdata/format/records";
import { encodeFeature } from "@perfdata/format/features";
import { memorySink } from "@perfdata/format/bytes";
import {
  HEADER_CPU_PMU_CAPS,
  PERF_SAMPLE_BRANCH_HW_INDEX,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";
import { ourStacks, perfStacks } from "../support/unwound.ts";
import { wordsRecord } from "../../fixtures/synthesize/recording.ts";

const REGISTERS = 8;
const KERNEL = BigInt.asUintN(64, -128n);
const USER = BigInt.asUintN(64, -512n);
const KERNEL_IP = 0xffffffff81000010n;
const START = 0x401000n;
const codec = new RecordCodec(KERNEL_RECORDS);

/** A call stack in the processor, which keeps only the newest branches. */
class Registers {
  readonly #ring: [from: bigint, to: bigint][] = [];
  readonly #stack: bigint[] = [START];
  #newest = 0;
  #valid = 0;

  get depth(): number {
    return this.#stack.length;
  }

  /** The current function. */
  get place(): bigint {
    return this.#stack.at(-1) as bigint;
  }

  call(to: bigint, from: bigint): void {
    this.#newest = (this.#newest + 1) % REGISTERS;
    this.#ring[this.#newest] = [this.place + from, to];
    this.#valid = Math.min(this.#valid + 1, REGISTERS);
    this.#stack.push(to);
  }

  ret(): void {
    this.#stack.pop();
    if (this.#valid === 0) return;
    this.#newest = (this.#newest + REGISTERS - 1) % REGISTERS;
    this.#valid--;
  }

  /** The words of a `perf_branch_stack` with its index. */
  words(): bigint[] {
    const entries = Array.from(
      { length: this.#valid },
      (_, i) => this.#ring[(this.#newest - i + REGISTERS) % REGISTERS] as [bigint, bigint],
    );
    const flat = entries.flatMap(([from, to]) => [from, to, 0n]);
    return [BigInt(entries.length), BigInt(this.#newest), ...flat];
  }
}

/** Three threads that call and return at random, with a sample after some steps. */
function samples(): Uint8Array[] {
  let seed = 7;
  const random = (below: number) => {
    seed = Math.imul(seed, 1103515245) + 12345 | 0;
    return (seed >>> 16) % below;
  };
  const threads = [7, 8, 9].map((tid) => ({ tid, calls: new Registers(), drift: 1 }));
  const records: Uint8Array[] = [];
  for (let i = 0; i < 600; i++) {
    const thread = threads[random(3)] as typeof threads[number];
    const { tid, calls } = thread;
    for (let steps = random(9); steps > 0; steps--) {
      if (calls.depth > 40) thread.drift = -1;
      if (calls.depth < 3) thread.drift = 1;
      const isCall = random(10) < (thread.drift > 0 ? 7 : 3);
      if (isCall || calls.depth === 1) {
        calls.call(START + BigInt(random(30) * 0x40), BigInt(random(4) * 8 + 4));
      } else calls.ret();
    }
    const branches = calls.words();
    // perf 6.1 prints the word after an empty branch stack as an address.
    if (branches[0] === 0n) continue;
    const inKernel = random(4) === 0;
    const ip = inKernel ? KERNEL_IP : calls.place + 0x20n;
    const user = [USER, calls.place + 0x20n];
    const chain = inKernel ? [KERNEL, KERNEL_IP, KERNEL_IP + 0x40n, ...user] : user;
    records.push(wordsRecord(9, inKernel ? 1 : 2, [
      ...[ip, BigInt(tid) << 32n | 7n, 1000n + BigInt(i)],
      ...[BigInt(chain.length), ...chain, ...branches],
    ]));
  }
  return records;
}

async function recording(): Promise<Uint8Array> {
  const sink = memorySink();
  const fields = [PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_CALLCHAIN];
  const attr = {
    ...emptyAttr(),
    // The limit of perf 6.1.
    size: 128,
    sample_period: 1n,
    sample_type: BigInt([...fields, PERF_SAMPLE_BRANCH_STACK].reduce((all, bit) => all | bit)),
    // PERF_SAMPLE_BRANCH_USER and PERF_SAMPLE_BRANCH_CALL_STACK.
    branch_sample_type: BigInt(0x801 | PERF_SAMPLE_BRANCH_HW_INDEX),
    flags: { ...emptyAttr().flags, sample_id_all: true },
  };
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
  const body = { pid: 7, tid: 7, addr: START, len: 0x9000n, pgoff: 0n, filename: "/bin/no-such" };
  const mmap = codec.encode({ type: 1, name: "MMAP", misc: 2, body });
  const timed = new Uint8Array(mmap.length + 16);
  timed.set(mmap);
  const view = new DataView(timed.buffer);
  view.setUint16(6, timed.length, true);
  view.setBigUint64(mmap.length, 7n << 32n | 7n, true);
  view.setBigUint64(mmap.length + 8, 1n, true);
  for (const record of [timed, ...samples()]) await writer.write(record);
  const value = { caps: [{ name: "branches", value: String(REGISTERS) }] };
  await writer.close([{
    id: HEADER_CPU_PMU_CAPS,
    bytes: encodeFeature({ id: HEADER_CPU_PMU_CAPS, name: "CPU_PMU_CAPS", value }),
  }]);
  return sink.bytes();
}

Deno.test({
  name: "--stitch-lbr: call stacks deeper than the branch registers are stitched as in perf",
  ignore: perfVersion() === undefined,
  fn: () =>
    inFolder(async (folder) => {
      const path = `${folder}/perf.data`;
      Deno.writeFileSync(path, await recording());
      const shape = ["--no-inline", "--ns", "-F", "tid,time,ip,dso"];
      const plain = (frames: readonly string[]) =>
        frames.map((frame) =>
          frame.startsWith("ffffffff") || frame === "kernel" ? "kernel" : frame
        );
      const lengths: number[] = [];
      for (const stitchLbr of [false, true]) {
        const args = ["script", ...(stitchLbr ? ["--stitch-lbr"] : []), ...shape];
        const perf = perfStacks((await perfText(args, path))?.stdout ?? "")
          .map(({ key, frames }) => [key, ...plain(frames)]);
        const { stacks } = await ourStacks(path, "/nowhere", { stitchLbr });
        // A sample in the kernel precedes a chain that does not begin there.
        const ours = stacks.map(({ key, frames }) => [key, ...plain(frames)]);
        assertEquals(ours, perf, `stitched: ${stitchLbr}`);
        assert(ours.length > 400, String(ours.length));
        lengths.push(ours.reduce((sum, frames) => sum + frames.length, 0));
      }
      const [short = 0, long = 0] = lengths;
      console.log(`${short} frames, ${long} stitched`);
      assert(long > 1.5 * short, `${short} frames, ${long} stitched`);
      for (const name of ["tree", "funcs", "script"]) {
        const args = name === "funcs" ? ["-g", "caller", path] : [path];
        const [plain, stitched] = [
          await tool(name, args),
          await tool(name, [...args, "--stitch-lbr"]),
        ];
        assertEquals([plain.code, stitched.code], [0, 0], name);
        assert(plain.out !== stitched.out, `${name} --stitch-lbr changes nothing`);
      }
    }),
});
