/**
 * A recording of a small program with branch stacks; the tests step through its branches
 * themselves.
 */
import { emptyAttr } from "@perfdata/format/records";
import type { Feature } from "@perfdata/format/features";
import {
  HEADER_ARCH,
  HEADER_CPU_PMU_CAPS,
  HEADER_EVENT_DESC,
  HEADER_GROUP_DESC,
  PERF_SAMPLE_BRANCH_COUNTERS,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { CodeSteps } from "@perfdata/export";
import { bytesSource } from "@perfdata/symbols/resolver";
import { ElfFile } from "@perfdata/symbols";
import { assertEquals } from "@std/assert";
import type { SteppedProgram } from "../../fixtures/stepped/program.ts";
import { asFile, type Item, Numbers } from "../../fixtures/synthesize/recording.ts";

const SOURCE = `
static int seed = 1;
__attribute__((noinline)) int next(void) { return seed = seed * 1103515245 + 12345 & 0x7fffffff; }
__attribute__((noinline)) int rare(int n) { return n * 3 + next() % 7; }
__attribute__((noinline)) int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) { if (next() % 16 == 0) sum += rare(i); else sum ^= i; }
  return sum;
}
int main(void) { int all = 0; for (int i = 0; i < 100; i++) all += work(i); return all & 1; }
`;
const SAMPLES = 400;
const ENTRIES = 16;

/** The installed name of an LLVM program, if there is one. */
export function found(program: string): string | undefined {
  const names = [program, `/usr/lib/llvm-19/bin/${program}`];
  return names.find((name) => {
    try {
      return new Deno.Command(name, { args: ["--version"], stdout: "null", stderr: "null" })
        .outputSync().success;
    } catch {
      return false;
    }
  });
}

/** Runs a program that has to succeed; returns its output. */
export function run(program: string, ...args: string[]): string {
  const { code, stdout, stderr } = new Deno.Command(program, { args }).outputSync();
  const text = new TextDecoder();
  assertEquals(code, 0, `${program} ${args.join(" ")}: ${text.decode(stderr)}`);
  return text.decode(stdout);
}

/** Steps through code that objdump shows; `numbers` give the directions of branches. */
function branchesOf(listing: string, numbers: Numbers): { from: number; to: number }[] {
  const code = new Map<number, { op: string; target: number; next: number }>();
  const lines = [...listing.matchAll(/^ +([0-9a-f]+):\t(\w+) *([0-9a-f]*)/gm)];
  for (const [i, [, at = "", op = "", target = ""]] of lines.entries()) {
    const next = parseInt(lines[i + 1]?.[1] ?? "0", 16);
    code.set(parseInt(at, 16), { op, target: parseInt(target, 16), next });
  }
  const main = parseInt(/^([0-9a-f]+) <main>:/m.exec(listing)?.[1] ?? "", 16);
  const stack: number[] = [];
  const branches: { from: number; to: number }[] = [];
  let at = main;
  for (let steps = 0; steps < 1e6 && branches.length < SAMPLES * ENTRIES; steps++) {
    const insn = code.get(at);
    if (insn === undefined) throw new Error(`no code at ${at.toString(16)}`);
    let to = insn.next;
    if (insn.op.startsWith("call")) {
      stack.push(insn.next);
      to = insn.target;
    } else if (insn.op.startsWith("ret")) to = stack.pop() ?? main;
    else if (insn.op === "jmp") to = insn.target;
    else if (insn.op.startsWith("j") && numbers.below(3) > 0) to = insn.target;
    if (to !== insn.next || insn.op.startsWith("ret")) branches.push({ from: at, to });
    at = to;
  }
  return branches;
}

/** The branches of a program that was stepped through, at the addresses of the linker. */
export function steppedBranches({ path, steps }: SteppedProgram): { from: number; to: number }[] {
  const code = new CodeSteps(ElfFile.open(bytesSource(Deno.readFileSync(path))));
  const branches: { from: number; to: number }[] = [];
  for (let i = 0; i + 1 < steps.count; i++) {
    const [from, to] = [Number(steps.ip[i]), Number(steps.ip[i + 1])];
    // Instructions without execution, and repeated ones, are no branches.
    if (((steps.flags[i] ?? 0) & 1) === 0 && to !== from && to !== from + code.step(from)) {
      branches.push({ from, to });
    }
  }
  return branches;
}

/** A branch of a recording. */
export interface Branch {
  from: number;
  to: number;
  abort?: boolean;
}

/**
 * A recording of the branches, with the program loaded at `base`.
 *
 * @param change Puts other branches in their place, at recorded addresses, and gives the address of
 * the sample (by default the target of the last branch). Addresses of the kernel are negative.
 * @param counters The counts of a branch since the one before, of the three events of a group, by
 * number of the branch.
 */
export async function recordingOf(
  path: string,
  branches: readonly { readonly from: number; readonly to: number }[],
  base: number = 0,
  change: (entries: Branch[], number: number) => number = ([last]) => last?.to ?? 0,
  counters?: (number: number) => bigint,
): Promise<Uint8Array> {
  const flags = { in_tx: false, abort: false, cycles: 0, type: 0, spec: 0, new_type: 0, priv: 0 };
  const items: Item[] = [
    { record: { type: 3, name: "COMM", misc: 0, body: { pid: 7, tid: 7, comm: "work" } } },
    ...segments(path).map(({ offset, vaddr, size }): Item => ({
      record: {
        type: 10,
        name: "MMAP2",
        misc: 2,
        body: {
          pid: 7,
          tid: 7,
          addr: BigInt(base + vaddr),
          len: BigInt(size),
          pgoff: BigInt(offset),
          maj: 8,
          min: 1,
          ino: 1n,
          ino_generation: 1n,
          prot: 5,
          flags: 2,
          filename: path,
        },
      },
    })),
  ];
  for (let i = 0; i + ENTRIES <= branches.length; i += ENTRIES) {
    const own = branches.slice(i, i + ENTRIES).reverse()
      .map(({ from, to }): Branch => ({ from: base + from, to: base + to }));
    const ip = BigInt.asUintN(64, BigInt(change(own, i / ENTRIES)));
    const entries = own.map(({ from, to, abort = false }, k) => ({
      from: BigInt.asUintN(64, BigInt(from)),
      to: BigInt.asUintN(64, BigInt(to)),
      flags: {
        ...flags,
        abort,
        mispred: (i + k) % 5 === 0,
        predicted: (i + k) % 5 !== 0,
        // 0 means that the duration is unknown.
        cycles: (i + k) % 7,
      },
    }));
    const counted = counters === undefined ? {} : {
      id: 1n,
      branch_stack: { entries, counters: entries.map((_, k) => counters(i + k)) },
    };
    const time = BigInt(1000 + i);
    const body = { ip, pid: 7, tid: 7, time, branch_stack: { entries }, ...counted };
    items.push({ record: { type: 9, name: "SAMPLE", misc: 2, body } } as Item);
  }
  const sample_type = BigInt(
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
      PERF_SAMPLE_BRANCH_STACK,
  );
  const attr = {
    ...emptyAttr(),
    size: 120,
    sample_period: 1n,
    sample_type,
    // All of user code.
    branch_sample_type: 9n,
  };
  if (counters === undefined) {
    return await asFile({ events: [{ attr, ids: [1n] }], items, features: [] }, true);
  }
  const grouped = (sampled: bigint) => ({
    ...attr,
    sample_type: sample_type | BigInt(PERF_SAMPLE_ID),
    branch_sample_type: 9n | sampled,
  });
  const counting = BigInt(PERF_SAMPLE_BRANCH_COUNTERS);
  const events = [counting, 0n, counting, counting].map((sampled, i) => ({
    attr: { ...grouped(sampled), config: BigInt(i) },
    ids: [BigInt(i + 1)],
  }));
  return await asFile({
    // The second event is not counted for branches, and the last one is in no group.
    events,
    items,
    features: [
      { id: HEADER_ARCH, name: "ARCH", value: "x86_64" },
      // perf crashes if a group has no names.
      {
        id: HEADER_EVENT_DESC,
        name: "EVENT_DESC",
        value: {
          attr_size: 120,
          events: events.map(({ attr, ids }, i) => ({ attr, name: `event${i}`, ids })),
        },
      },
      {
        id: HEADER_GROUP_DESC,
        name: "GROUP_DESC",
        value: { groups: [{ name: "{anon_group}", leader_idx: 0, nr_members: 3 }] },
      },
      {
        id: HEADER_CPU_PMU_CAPS,
        name: "CPU_PMU_CAPS",
        value: {
          caps: [
            { name: "branch_counter_nr", value: "4" },
            { name: "branch_counter_width", value: "2" },
          ],
        },
      },
    ] as Feature[],
  }, true);
}

/** Segments as the kernel maps them: whole pages, executable or writable. */
export function segments(
  path: string,
  flags: "R E" | "RW " = "R E",
): { offset: number; vaddr: number; size: number }[] {
  return [
    ...run("readelf", "-lW", path).matchAll(
      /LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ (R E|RW )/g,
    ),
  ].filter((match) => match[4] === flags).map(([, offset = "", vaddr = "", size = ""]) => {
    const [at, to, bytes] = [offset, vaddr, size].map((hex) => parseInt(hex, 16)) as [
      number,
      number,
      number,
    ];
    const inPage = to % 4096;
    return {
      offset: at - inPage,
      vaddr: to - inPage,
      size: Math.ceil((bytes + inPage) / 4096) * 4096,
    };
  });
}

const GCC = ["gcc", "-g", "-O1", "-fcf-protection=none", "-Wl,-q"];

/**
 * Makes a program and a recording of its branches.
 *
 * @param compiler Name and flags.
 */
export async function branchRecording(
  folder: string,
  pie: boolean,
  compiler: readonly string[] = GCC,
): Promise<{ program: string; data: string }> {
  const { program, branches, base } = branchProgram(folder, pie, compiler);
  const data = `${folder}/work.data`;
  Deno.writeFileSync(data, await recordingOf(program, branches, base));
  return { program, data };
}

/** Makes a program and steps through it; `base` is its load address. */
export function branchProgram(
  folder: string,
  pie: boolean,
  compiler: readonly string[] = GCC,
): { program: string; branches: { from: number; to: number }[]; base: number } {
  const program = `${folder}/work`;
  Deno.writeTextFileSync(`${folder}/work.c`, SOURCE);
  const [command = "", ...flags] = compiler;
  run(
    command,
    ...flags,
    ...(pie ? ["-fpie", "-pie"] : ["-fno-pie", "-no-pie"]),
    ...["-o", program, `${folder}/work.c`],
  );
  const listing = run("objdump", "-d", "--no-show-raw-insn", program);
  const branches = branchesOf(listing, new Numbers(3));
  assertEquals(branches.length, SAMPLES * ENTRIES);
  return { program, branches, base: pie ? 0x555555554000 : 0 };
}
