/** Rare fields of `script`, compared with `perf script` on samples made here. */
import { emptyAttr, type PerfEventAttr, type Sample } from "@perfdata/format/records";
import { encodeFeature } from "@perfdata/format/features";
import {
  HEADER_ARCH,
  HEADER_CLOCK_DATA,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_WEIGHT_STRUCT,
  registerName,
} from "@perfdata/format/constants";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { asFile, type Item, Numbers } from "../../fixtures/synthesize/recording.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { type Branch, branchProgram, found, recordingOf } from "../support/branch_recording.ts";
import { newerPerfText, noNewerPerf, noPerf, perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";
import { ignored } from "../support/ignored.ts";

const REGS = 0xff0fffn;
const BASE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
const MEMORY = BASE | PERF_SAMPLE_ADDR | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
  PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR |
  PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_WEIGHT_STRUCT;

function registers(numbers: Numbers) {
  const regs: Record<string, bigint> = {};
  for (let bit = 0; bit < 64; bit++) {
    if ((REGS >> BigInt(bit) & 1n) !== 0n) {
      regs[registerName("x86_64", bit)] = BigInt(numbers.below(2 ** 32)) <<
        BigInt(numbers.below(32));
    }
  }
  return { abi: 2n, regs };
}

function branches(numbers: Numbers) {
  return Array.from({ length: numbers.below(4) }, () => ({
    from: 0x401000n + BigInt(numbers.below(0x4000)),
    to: 0xffffffff81000000n + BigInt(numbers.below(0x4000)),
    flags: {
      mispred: numbers.below(2) === 0,
      predicted: numbers.below(2) === 0,
      in_tx: numbers.below(2) === 0,
      abort: numbers.below(2) === 0,
      cycles: numbers.below(65536),
      type: numbers.below(15),
      spec: 0,
      new_type: 0,
      priv: 0,
    },
  }));
}

/** A recording of one event, its attr and the bodies of its samples. */
async function recording(attr: Partial<PerfEventAttr>, bodies: readonly Partial<Sample>[]) {
  const items: Item[] = [
    { record: { type: 3, name: "COMM", misc: 0, body: { pid: 7, tid: 7, comm: "work" } } },
    {
      record: {
        type: 1,
        name: "MMAP",
        misc: 2,
        body: {
          pid: 7,
          tid: 7,
          addr: 0x400000n,
          len: 0x4000n,
          pgoff: 0n,
          filename: "/nowhere/work",
        },
      },
    },
    ...bodies.map((body, i) => ({
      record: {
        type: 9,
        name: "SAMPLE",
        misc: 2,
        body: { ip: 0x401000n, pid: 7, tid: 7, time: BigInt(1000 * i), period: 1n, ...body },
      },
    } as Item)),
  ];
  const events = [{ attr: { ...emptyAttr(), size: 120, sample_period: 1n, ...attr }, ids: [1n] }];
  const clock = { version: 1, clockid: 1, wall_clock_ns: 1_700_000_000_123_456_789n };
  const features = [
    { id: HEADER_ARCH, name: "ARCH", value: "x86_64" },
    { id: HEADER_CLOCK_DATA, name: "CLOCK_DATA", value: { ...clock, clockid_time_ns: 5000n } },
  ] as unknown as Parameters<typeof encodeFeature>[0][];
  return await asFile({ events, items, features }, true);
}

async function compare(
  bytes: Uint8Array,
  fields: readonly (string | readonly string[] | undefined)[],
  perf: typeof perfText = perfText,
): Promise<number> {
  const path = Deno.makeTempFileSync({ suffix: ".perf.data" });
  let lines = 0;
  try {
    Deno.writeFileSync(path, bytes);
    for (const field of fields) {
      const lists = field === undefined ? [] : typeof field === "string" ? [field] : field;
      const args = lists.flatMap((list) => ["-F", list]);
      const theirs = await perf(["script", ...args], path);
      assertEquals(theirs?.code, 0, `perf: ${field}: ${theirs?.stderr}`);
      const ours = await tool("script", [...args, path]);
      const latin = Array.from(ours.stdout, (byte) => String.fromCharCode(byte)).join("");
      assertEquals(latin, theirs?.stdout, `${field}`);
      lines += latin.split("\n").length - 1;
    }
  } finally {
    Deno.removeSync(path);
  }
  return lines;
}

/**
 * Without `mem_lvl_num` (bits 33 to 36) of 5 to 8, which are names of Linux 6.7 and later, unknown
 * to perf 6.1.
 */
function withoutNewLevels(source: bigint): bigint {
  const level = source >> 33n & 15n;
  return level >= 5n && level <= 8n ? source ^ level << 33n : source;
}

Deno.test(
  "script -F: memory accesses, registers and branches print as in perf",
  ignored(noPerf()),
  async () => {
    const numbers = new Numbers(1);
    const sizes = [0n, 4096n, 2n << 20n, 1n << 30n, 1500n];
    const bodies = Array.from({ length: 60 }, (_, i): Partial<Sample> => ({
      addr: BigInt(numbers.below(2 ** 32)),
      branch_stack: { entries: branches(numbers) },
      regs_user: i % 9 === 0 ? { abi: 0n } : registers(numbers),
      weight_struct: {
        var1_dw: numbers.below(2 ** 32),
        var2_w: numbers.below(65536),
        var3_w: numbers.below(65536),
      },
      // Single bits of each part, and any combination.
      data_src: withoutNewLevels(
        i === 0
          ? 0n
          : i < 46
          ? 1n << BigInt(i - 1)
          : (BigInt(numbers.below(2 ** 32)) << 14n | BigInt(numbers.below(0x4000))) &
            0x0fff_ffff_ffffn,
      ),
      regs_intr: registers(numbers),
      phys_addr: BigInt(numbers.below(2 ** 32)) * 16n,
      data_page_size: sizes[numbers.below(sizes.length)] as bigint,
      code_page_size: sizes[numbers.below(sizes.length)] as bigint,
    }));
    const bytes = await recording({
      type: 4,
      config: 0x1cdn,
      sample_type: BigInt(MEMORY),
      branch_sample_type: 0x9n,
      sample_regs_user: REGS,
      sample_regs_intr: REGS,
    }, bodies);
    const lines = await compare(bytes, [
      undefined,
      "iregs,uregs",
      "ip,weight,ins_lat,phys_addr,data_page_size,code_page_size",
      "brstack",
      "ip,dso,brstack",
      "ip,sym,dso,brstacksym",
      "ip,dso,brstackoff",
      "comm,tod,time",
      "+iregs,+brstacksym,-data_src",
    ]);
    console.log(`script: ${lines} lines of fields that few recordings have are those of perf`);
    assert(lines >= 480, `only ${lines}`);
  },
);

Deno.test(
  "script -F retire_lat: prints as in perf 6.12, and is refused if samples lack it",
  ignored(noNewerPerf()),
  async () => {
    const numbers = new Numbers(2);
    const bodies = Array.from({ length: 40 }, (): Partial<Sample> => ({
      weight_struct: {
        var1_dw: numbers.below(2 ** 32),
        var2_w: numbers.below(65536),
        var3_w: numbers.below(65536),
      },
    }));
    const sample_type = BigInt(BASE | PERF_SAMPLE_WEIGHT_STRUCT);
    const fields = ["ip,retire_lat", "comm,time,weight,ins_lat,retire_lat,ip,sym"];
    const bytes = await recording({ type: 4, config: 0x1cdn, sample_type }, bodies);
    assert(await compare(bytes, fields, newerPerfText) === 80);
    const path = Deno.makeTempFileSync({ suffix: ".perf.data" });
    try {
      Deno.writeFileSync(path, await recording({ type: 4, sample_type: BigInt(BASE) }, bodies));
      const { code, err } = await tool("script", ["-F", "retire_lat", path]);
      assertEquals(code, 2);
      assertStringIncludes(err, "have no retire_lat");
    } finally {
      Deno.removeSync(path);
    }
  },
);

Deno.test(
  "script -F type:fields: lists for one type of event print as in perf",
  ignored(noPerf()),
  async () => {
    const attr = {
      ...emptyAttr(),
      size: 120,
      sample_period: 1n,
      sample_type: BigInt(BASE | PERF_SAMPLE_IDENTIFIER),
    };
    const events = [0, 1].map((type) => ({ attr: { ...attr, type }, ids: [BigInt(type + 1)] }));
    const items = Array.from({ length: 20 }, (_, i): Item => ({
      event: i % 2,
      record: {
        type: 9,
        name: "SAMPLE",
        misc: 2,
        body: {
          ...{ identifier: BigInt(i % 2 + 1), ip: 0x401000n, pid: 7, tid: 7 },
          ...{ time: BigInt(1000 * i), period: BigInt(i) },
        },
      },
    }));
    const bytes = await asFile({ events, items, features: [] }, true);
    const lines = await compare(bytes, [
      undefined,
      "sw:comm,ip",
      ["hw:comm,time", "sw:time,event"],
      ["tid,time", "sw:ip,sym"],
      ["hw:ip", "time"],
      "sw:",
      "trace:time",
      "hw:-period",
      ["hw:+symoff,-comm", "sw:+pid"],
    ]);
    console.log(`script: ${lines} lines of lists for one type are those of perf`);
    assert(lines === 170, `${lines} lines`);
    const path = Deno.makeTempFileSync({ suffix: ".perf.data" });
    try {
      Deno.writeFileSync(path, bytes);
      const { code, err } = await tool("script", ["-F", "foo:ip", path]);
      assertEquals(code, 2, err);
      assertStringIncludes(err, "foo is no type of events with fields of its own: hw, sw, trace");
    } finally {
      Deno.removeSync(path);
    }
  },
);

Deno.test("script: output of BPF programs prints as in perf", ignored(noPerf()), async () => {
  const encoder = new TextEncoder();
  const raw = ["hello\0\0\0", "raise_bpf_error\0", "a", "two\0words\0", "\x01\x02\x7f~ \0", ""];
  const bytes = await recording(
    { type: 1, config: 10n, sample_type: BigInt(BASE | PERF_SAMPLE_RAW) },
    raw.map((text) => ({
      raw: encoder.encode(text.padEnd(text.length + (12 - text.length % 8) % 8, "\0")),
    })),
  );
  assert(await compare(bytes, [undefined, "time,ip"]) > 20);
});

Deno.test("script -F: a field that is not supported is refused with a reason", async () => {
  const path = new URL("../../fixtures/recorded/clock.perf.data", import.meta.url).pathname;
  for (
    const field of ["metric", "brstackinsn", "srccode", "ipc", "synth", "insn", "iregs", "weight"]
  ) {
    const { code, out, err } = await tool("script", ["-F", `comm,${field}`, path]);
    assertEquals([code, out], [2, ""], field);
    assertStringIncludes(err, field);
    assertEquals(err.trim().split("\n").length, 1, err);
  }
});

Deno.test("script: addr is named by the mapping at that time, even if the kernel accessed it", async () => {
  const map = (filename: string): Item => ({
    record: {
      type: 1,
      name: "MMAP",
      misc: 2,
      body: { pid: 7, tid: 7, addr: 0x400000n, len: 0x4000n, pgoff: 0n, filename },
    },
  });
  let time = 1000n;
  const sample = (misc: number, addr: bigint): Item => ({
    record: {
      type: 9,
      name: "SAMPLE",
      misc,
      body: { ip: 0x500000n, pid: 7, tid: 7, time: time += 1000n, addr },
    },
  } as Item);
  const sample_type = BigInt(
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
  );
  // Data has names if the event is a page fault.
  const pageFaults = { type: 1, config: 2n };
  const bytes = await asFile({
    events: [{
      attr: { ...emptyAttr(), size: 120, sample_period: 1n, sample_type, ...pageFaults },
      ids: [1n],
    }],
    items: [
      map("/nowhere/first"),
      sample(2, 0x400010n),
      sample(1, 0x400020n),
      sample(2, 0x600000n),
      map("/nowhere/second"),
      sample(2, 0x400010n),
      sample(1, 0x400020n),
    ],
    features: [{ id: HEADER_ARCH, name: "ARCH", value: "x86_64" }],
  }, true);
  const path = Deno.makeTempFileSync({ suffix: ".perf.data" });
  try {
    Deno.writeFileSync(path, bytes);
    const args = ["-F", "addr,ip,sym,dso"];
    const { code, out, err } = await tool("script", [...args, path]);
    assertEquals(code, 0, err);
    const names = out.trimEnd().split("\n").map((line) => /\(([^)]*)\)/.exec(line)?.[1]);
    assertEquals(names, [
      ...["/nowhere/first", "/nowhere/first", "[unknown]"],
      ...["/nowhere/second", "/nowhere/second"],
    ]);
    const theirs = await perfText(["script", ...args], path);
    if (theirs !== undefined) assertEquals(out, theirs.stdout);
  } finally {
    Deno.removeSync(path);
  }
});

/** An impossible source of a branch: no instruction begins there. */
const MISMATCH = 9;

/**
 * Adds rare cases to branch stacks: the kernel, damage, samples elsewhere. Returns the sampled
 * address.
 */
function rareStacks(
  numbers: Numbers,
  which?: number,
): (entries: Branch[], number: number) => number {
  const KERNEL = -0x7f000000;
  return (entries, number) => {
    const [last, , third, fourth] = entries as [Branch, Branch, Branch, Branch];
    switch (which ?? number % 9) {
      case 1:
        return last.to + numbers.below(40);
      case 2:
        return last.to - 1 - numbers.below(40);
      case 3:
        // To the kernel and back.
        third.from = KERNEL + 0x100;
        fourth.to = KERNEL;
        return last.to;
      case 4:
        // Only the way back.
        third.from = KERNEL + 0x100;
        return last.to;
      case 6:
        // An unmapped target, and a too long piece.
        third.from = fourth.to = 0x10;
        last.from += 20000;
        return last.to;
      case 7:
        return last.from;
      case 8:
        last.abort = true;
        return last.to;
      case MISMATCH:
        third.from += 1;
        return last.to;
      default:
        return last.to;
    }
  };
}

Deno.test({
  name: "script: the code between branches equals that of perf script -F brstackinsn",
  ...ignored(
    noPerf() ??
      (found("gcc") === undefined || found("objdump") === undefined
        ? "gcc or objdump is not installed"
        : undefined),
  ),
  fn: () =>
    inFolder(async (folder) => {
      let lines = 0;
      for (const pie of [false, true]) {
        const { program, branches, base } = branchProgram(folder, pie);
        const data = await recordingOf(program, branches, base, rareStacks(new Numbers(5)));
        const path = `${folder}/rare.data`;
        Deno.writeFileSync(path, data);
        const lists = pie
          ? ["brstackinsn"]
          : ["brstackinsn,brstack", "comm,tid,time,ip,sym,brstackinsnlen"];
        for (const fields of lists) {
          const theirs = await perfText(["script", "-F", fields], path);
          assertEquals(theirs?.code, 0, theirs?.stderr);
          const ours = await tool("script", ["-F", fields, path]);
          assertEquals(ours.code, 0, ours.err);
          // No build id was recorded, so functions are marked.
          assertEquals(
            ours.out.replace(/\?(?=$|:$|\+0x|\+\d+:$| \()/gm, ""),
            theirs?.stdout,
            fields,
          );
          assertStringIncludes(ours.err, "pieces of code between branches");
          const shared = await tool("script", ["--jobs", "2", "-F", fields, path]);
          assertEquals([shared.out, shared.err], [ours.out, ours.err]);
          lines += ours.out.split("\n").length;
          for (
            const rare of ["... not reaching sample", " ABORT", " IPC"]
          ) {
            assertStringIncludes(ours.out, rare);
          }
        }
        const wrong = rareStacks(new Numbers(5), MISMATCH);
        Deno.writeFileSync(path, await recordingOf(program, branches, base, wrong));
        const theirs = await perfText(["script", "-F", "brstackinsn"], path);
        const ours = await tool("script", ["-F", "brstackinsn", path]);
        // perf names the function after the end if it has read on into it.
        const unnamed = (text: string) => text.replace(/^\t[^\t\n]+:\n/gm, "");
        assertEquals(unnamed(ours.out), unnamed(theirs?.stdout ?? ""));
        assertStringIncludes(ours.out, "mismatch of LBR data and executable");
      }
      console.log(`${lines} lines compared`);
      assert(lines > 80_000);
    }),
});

Deno.test({
  name: "script: branch counters equal those of a newer perf script -F brstackinsn,brcntr",
  ...ignored(
    noNewerPerf() ??
      (found("gcc") === undefined || found("objdump") === undefined
        ? "gcc or objdump is not installed"
        : undefined),
  ),
  fn: () =>
    inFolder(async (folder) => {
      const { program, branches, base } = branchProgram(folder, false);
      const path = `${folder}/counted.data`;
      const last = ([branch]: { to: number }[]) => branch?.to ?? 0;
      const counters = (number: number) => BigInt(number % 16);
      const some = branches.slice(0, 1600);
      Deno.writeFileSync(path, await recordingOf(program, some, base, last, counters));
      for (const fields of ["brstackinsn,brcntr", "ip,sym,brstackinsnlen,brcntr"]) {
        const theirs = await newerPerfText(["script", "-F", fields], path);
        assertEquals(theirs.code, 0, theirs.stderr);
        const ours = await tool("script", ["-F", fields, path]);
        assertEquals(ours.code, 0, ours.err);
        assertEquals(
          ours.out.replace(/\?(?=$|:$|\+0x|\+\d+:$| \()/gm, ""),
          theirs.stdout,
          fields,
        );
        const counted = ours.out.match(/br_cntr: A{0,3}B{0,3}\t#/g) ?? [];
        assert(counted.length > 1400, `${counted.length} branches`);
        assertStringIncludes(ours.out, "br_cntr: AAABBB\t#");
      }
      Deno.writeFileSync(path, await recordingOf(program, some, base));
      const without = await tool("script", ["-F", "brstackinsn,brcntr", path]);
      assertEquals(without.code, 2, without.err);
      assertStringIncludes(without.err, "-j any,counter records them");
    }),
});

Deno.test({
  name:
    "script: the code between branches of Intel PT equals that of perf script --itrace=i500il16",
  ...ignored(cannotStep() ?? noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant = { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true };
      const path = `${folder}/perf.data`;
      Deno.writeFileSync(
        path,
        await steppedFile(program, encodeProgram(program, variant), variant),
      );
      const args = ["script", "--itrace=i500il16", "-F", "comm,tid,time,ip,sym,brstackinsn"];
      const theirs = await perfText(args, path);
      assertEquals(theirs?.code, 0, theirs?.stderr);
      const ours = await tool("script", [...args.slice(1), path]);
      assertEquals(ours.code, 0, ours.err);
      // The PLT of a static program, whose stubs have no names: perf uses the function before.
      const named = (text: string) => text.replace(/(?:\*ABS\*\S*@plt|\b_init)(?:\+\d+)?/g, "PLT");
      assertEquals(named(ours.out), named(theirs?.stdout ?? ""));
      const lines = ours.out.split("\n").length;
      console.log(`${lines} lines compared`);
      assert(lines > 5000);
      const without = await tool("script", ["-F", "brstackinsn", path]);
      assertEquals(without.code, 2);
      assertStringIncludes(without.err, "--itrace with l");
    }),
});

Deno.test("script: the code between branches is refused if branches are missing", async () => {
  const attr = { sample_type: BigInt(BASE | PERF_SAMPLE_BRANCH_STACK), branch_sample_type: 0x10n };
  const path = Deno.makeTempFileSync({ suffix: ".perf.data" });
  try {
    Deno.writeFileSync(path, await recording(attr, [{ branch_stack: { entries: [] } }]));
    const { code, err } = await tool("script", ["-F", "brstackinsn", path]);
    assertEquals(code, 2);
    assertStringIncludes(err, "brstackinsn needs all branches");
  } finally {
    Deno.removeSync(path);
  }
});
