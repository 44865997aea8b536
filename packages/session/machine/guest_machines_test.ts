import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { bytesSource } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader } from "@perfdata/format/records";
import {
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import { runEngine } from "../reading/run_engine.ts";
import type { Run } from "../order/run.ts";
import { machineName } from "./guest_machines.ts";
import {
  asFile,
  asPipe,
  type Item,
  type Recording,
} from "../../../fixtures/synthesize/recording.ts";

const [KERNEL, USER, GUEST_KERNEL, GUEST_USER] = [1, 2, 4, 5];
const TEXT = 0xffff_ffff_8100_0000n;
const CODE = 0x40_0000n;
const SIZE = 0x10_0000n;

const attr = {
  ...emptyAttr(),
  sample_type: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD),
  flags: { ...emptyAttr().flags, sample_id_all: true },
};

/** A mapping of one of two adjacent ranges, or a sample in one of them. */
interface Step {
  readonly pid: number;
  readonly mode: number;
  readonly range: number;
  readonly isSample: boolean;
}

/** Name of the binary that a step maps, which differs between machines. */
function nameOf({ pid, mode }: Step): string {
  switch (mode) {
    case KERNEL:
      return "[kernel.kallsyms]_text";
    case GUEST_KERNEL:
      return pid <= 0 ? "[guest.kernel.kallsyms]_text" : `[guest.kernel.kallsyms.${pid}]_text`;
    default:
      return `/${mode === USER ? "host" : "guest"}/${pid}`;
  }
}

function itemOf(step: Step, time: bigint): Item {
  const { pid, mode, range, isSample } = step;
  const addr = (mode === KERNEL || mode === GUEST_KERNEL ? TEXT : CODE) + BigInt(range) * SIZE;
  const sample_id = { pid, tid: pid, time };
  if (isSample) {
    const body = { ...sample_id, ip: addr + 0x10n, period: 1n };
    return { record: { type: 9, name: "SAMPLE", misc: mode, body } };
  }
  const body = { pid, tid: pid, addr, len: SIZE, pgoff: addr, filename: nameOf(step) };
  return { record: { type: 1, name: "MMAP", misc: mode, body, sample_id } };
}

/** Expected maps at each sample, from separate lists of mappings for each machine. */
function expected(steps: readonly Step[]): string[] {
  const kernels = new Map<string, Step>();
  const users = new Map<string, Set<number>>();
  const found: string[] = [];
  for (const [i, step] of steps.entries()) {
    const { pid, mode, range, isSample } = step;
    const isKernel = mode === KERNEL || mode === GUEST_KERNEL;
    const key = mode === KERNEL ? "host" : `${mode} ${Math.max(0, pid)}`;
    if (!isSample) {
      // A kernel has one map: the last one.
      if (isKernel) kernels.set(key, step);
      else users.set(key, (users.get(key) ?? new Set()).add(range));
      continue;
    }
    let name = "nothing";
    if (isKernel) {
      const map = kernels.get(key) ?? (mode === GUEST_KERNEL ? kernels.get("4 0") : undefined);
      if (map?.range === range) name = nameOf(map).replace("_text", "");
      else if (mode === GUEST_KERNEL) name = "[guest.kernel]";
    } else if (users.get(key)?.has(range)) name = nameOf(step);
    found.push(`${i} ${machineName(mode, pid)} ${name}`);
  }
  return found;
}

/** Lines of chosen samples: time, machine and object. */
class Lines implements Consumer {
  readonly needs;
  readonly lines: string[] = [];
  #engine: Engine | undefined;

  constructor(order?: "any") {
    this.needs = { places: true, ...(order === undefined ? {} : { order }) };
  }

  start(engine: Engine): void {
    this.#engine = engine;
  }

  rows(run: Run): void {
    const { places } = this.#engine as Engine;
    for (let i = 0; i < run.count; i++) {
      if (run.chosen[i] !== 1) continue;
      const object = places.object(run.place[i] as number);
      const machine = machineName(run.misc[i] as number, run.process[i] as number);
      const name = places.mapped[object]?.name ?? "nothing";
      this.lines.push(`${run.time(i) - 1n} ${machine} ${name}`);
    }
  }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom([-1, KERNEL], [0, GUEST_KERNEL], [-1, GUEST_KERNEL]) },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constantFrom(500, 600),
      fc.constantFrom(USER, GUEST_KERNEL, GUEST_USER),
    ),
  },
).chain(([pid = 0, mode = 0]) =>
  fc.record({
    pid: fc.constant(pid),
    mode: fc.constant(mode),
    range: fc.nat(1),
    isSample: fc.constant(false),
  })
);
const sample: fc.Arbitrary<Step> = fc.record({
  pid: fc.constantFrom(500, 600),
  mode: fc.constantFrom(KERNEL, USER, GUEST_KERNEL, GUEST_USER),
  range: fc.nat(1),
  isSample: fc.constant(true),
});

Deno.test("machines: host and guests at the same addresses, in any order of records, each have their own maps", async () => {
  const property = fc.asyncProperty(
    fc.array(fc.oneof(step, sample), { maxLength: 40, size: "max" }),
    fc.infiniteStream(fc.nat(1000)),
    async (steps, ranks) => {
      const wanted = expected(steps);
      const items = steps.map((step, i) => itemOf(step, BigInt(i) + 1n))
        .map((item) => ({ item, rank: ranks.next().value as number }))
        .sort((a, b) => a.rank - b.rank).map(({ item }) => item);
      const recording: Recording = { events: [{ attr, ids: [] }], items, features: [] };
      for (const littleEndian of [true, false]) {
        for (const order of [undefined, "any"] as const) {
          const lines = new Lines(order);
          const file = await asFile(recording, littleEndian);
          await runEngine(await PerfDataReader.open(bytesSource(file)), [lines]);
          const byTime = (line: string): number => parseInt(line);
          assertEquals(lines.lines.sort((a, b) => byTime(a) - byTime(b)), wanted);
        }
      }
      const piped = new Lines();
      const pipe = await asPipe(recording, true);
      await runEngine(await PerfDataReader.open(bytesSource(pipe)), [piped]);
      assertEquals(piped.lines, wanted);
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

Deno.test("GuestMachines: a kernel map of a guest with the host's cpumode leaves the host's kernel map unchanged", async () => {
  // perf 4.4 wrote such records.
  const host = { pid: -1, mode: KERNEL, range: 0, isSample: false };
  const guest = itemOf({ pid: 0, mode: GUEST_KERNEL, range: 0, isSample: false }, 2n);
  const items: Item[] = [
    itemOf(host, 1n),
    { record: { ...guest.record, misc: KERNEL } as Item["record"] },
    itemOf({ pid: 500, mode: KERNEL, range: 0, isSample: true }, 3n),
    itemOf({ pid: 500, mode: GUEST_KERNEL, range: 0, isSample: true }, 4n),
  ];
  const file = await asFile({ events: [{ attr, ids: [] }], items, features: [] }, true);
  const lines = new Lines();
  await runEngine(await PerfDataReader.open(bytesSource(file)), [lines]);
  assertEquals(lines.lines, [
    "2 host [kernel.kallsyms]",
    "3 guest 500 [guest.kernel.kallsyms]",
  ]);
});
