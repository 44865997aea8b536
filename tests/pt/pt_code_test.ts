/**
 * The source of a trace's code, and its thread: modified kernel code, code of a JIT compiler, a
 * thread that moves between CPUs. The recordings are made here, packet by packet.
 */
import { writeElf } from "../../packages/symbols/testing/elf_writer.ts";
import { assert, assertEquals } from "@std/assert";
import { bytesSource as formatSource } from "@perfdata/format/bytes";
import { compressIp, encodePackets, type FlowDecoder, type Packet } from "@perfdata/intel-pt";
import { decodePt, type PtBuffer, PtTrace } from "@perfdata/pt/decode";
import { type CodeFiles, type MemoryImage, memoryImages } from "@perfdata/session/code";
import { bytesSource } from "@perfdata/symbols/resolver";
import { openCodeFile } from "@perfdata/symbols";
import { localFiles } from "@perfdata/symbols/files";
import { FIRST_TSC } from "../../fixtures/stepped/encode.ts";
import {
  auxItems,
  PT_FEATURES,
  ptEvents,
  ptInfo,
  TIME,
  timeOf,
} from "../../fixtures/stepped/recording.ts";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";

import { perfText } from "../support/perf.ts";
import { tool } from "../support/tool.ts";
import { skipped } from "../support/ignored.ts";

const PID = 4711;

function bytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.split(" "), (pair) => parseInt(pair, 16));
}

function ip(type: "TIP" | "TIP.PGE" | "FUP" | "TIP.PGD", address?: bigint): Packet {
  if (address === undefined) return { type, compression: 0, payload: 0n };
  return {
    type,
    compression: 3,
    payload: compressIp(address, 1n << 63n).payload & 0xffffffffffffn,
  };
}

function psb(tsc: bigint, at?: bigint): Packet[] {
  return [
    { type: "PSB" },
    { type: "TSC", tsc },
    { type: "MODE.Exec", csL: true, csD: false, interruptFlag: false },
    ...(at === undefined ? [] : [ip("FUP", at)]),
    { type: "PSBEND" },
  ];
}

function sample(time: bigint, cpu = 0, tid = PID) {
  return { pid: PID, tid, time, cpu, identifier: 21n };
}

const START: readonly Item[] = [
  { record: { type: 79, name: "TIME_CONV", misc: 0, body: TIME } },
  { record: { type: 70, name: "AUXTRACE_INFO", misc: 0, body: { type: 1, priv: ptInfo() } } },
];

function mmap(filename: string, addr: bigint, len: bigint, time: bigint): Item {
  return {
    record: {
      type: 10,
      name: "MMAP2",
      misc: 2,
      body: {
        pid: PID,
        tid: PID,
        addr,
        len,
        pgoff: 0n,
        maj: 8,
        min: 1,
        ino: 42n,
        ino_generation: 0n,
        prot: 5,
        flags: 2,
        filename,
      },
      sample_id: sample(time),
    },
    event: 1,
  };
}

/** Instructions as `tid:address`, in the order of decoding. */
async function decode(
  items: readonly Item[],
  files: Partial<CodeFiles>,
  images: readonly MemoryImage[] = [],
  guestImages: readonly MemoryImage[] = [],
): Promise<{ insns: string[]; errors: number }> {
  const recording = { events: ptEvents(0x2401n, false), items, features: PT_FEATURES };
  const source = formatSource(await asFile(recording, true));
  const trace = await PtTrace.open(source, {
    code: () => ({
      files: {
        open: files.open ?? (() => ({ missing: "file missing" })),
        file: files.file ?? (() => undefined),
      },
      images,
      guestImages,
    }),
  });
  const insns: string[] = [];
  const counts = await decodePt(trace, {
    flow(buffer: PtBuffer, { entries, count, paths, blocks }: FlowDecoder) {
      for (let i = 0; i < count; i++) {
        const path = entries[i] as number;
        if (path < 0) continue;
        for (let k = paths.start[path] as number; k < (paths.start[path + 1] as number); k++) {
          const block = paths.blocks[k] as number;
          const low = (blocks.low[block] as number) >>> 0;
          blocks.eachInsn(buffer.code, block, (offset) => {
            insns.push(`${buffer.tid}:${(low + offset).toString(16)}`);
          });
        }
      }
    },
  });
  return { insns, errors: counts.errors.reduce((sum, n) => sum + n, 0) };
}

const itrace = (cpu = 0, tid = PID): Item => ({
  record: {
    type: 12,
    name: "ITRACE_START",
    misc: 0,
    body: { pid: PID, tid },
    sample_id: { ...sample(timeOf(FIRST_TSC) - 9n, cpu, tid), identifier: 11n },
  },
});

Deno.test("pt: TEXT_POKE records give the kernel code of each time", async () => {
  const base = 0xffff_ffff_8100_0000n;
  // A nop of five bytes; jmp rax. Later the nop is a jump over it.
  const code = bytes("0f 1f 44 00 00 ff e0 90 ff e0");
  const late = FIRST_TSC + 1_000_000n;
  const poke: Item = {
    record: {
      type: 20,
      name: "TEXT_POKE",
      misc: 1,
      body: {
        addr: base,
        old_len: 5,
        new_len: 5,
        old_bytes: bytes("0f 1f 44 00 00"),
        new_bytes: bytes("e9 02 00 00 00"),
        padding: new Uint8Array(2),
      },
      sample_id: sample(timeOf(FIRST_TSC + 500_000n)),
    },
    event: 1,
  };
  const trace = encodePackets([
    ...psb(FIRST_TSC, base),
    ip("TIP", base),
    ...psb(late, base),
    ip("TIP", base),
  ]);
  const { insns, errors } = await decode(
    [...START, itrace(), poke, ...auxItems(trace, { cpu: 0, tid: -1, idx: 0 })],
    {},
    memoryImages(bytesSource(code), base),
  );
  assertEquals(insns, [
    `${PID}:81000000`,
    `${PID}:81000005`,
    `${PID}:81000000`,
    `${PID}:81000007`,
    `${PID}:81000008`,
  ]);
  assertEquals(errors, 0);
});

/** A jitdump file: several codes at one address, each from its own time on. */
function jitdump(
  codes: readonly { time: bigint; address: bigint; code: Uint8Array }[],
): Uint8Array {
  const parts: Uint8Array[] = [];
  const header = new DataView(new ArrayBuffer(40));
  header.setUint32(0, 0x4a695444, true);
  header.setUint32(4, 1, true);
  header.setUint32(8, 40, true);
  header.setUint32(12, 62, true);
  header.setUint32(20, PID, true);
  parts.push(new Uint8Array(header.buffer));
  for (const [i, { time, address, code }] of codes.entries()) {
    const name = new TextEncoder().encode("jitted\0");
    const record = new DataView(new ArrayBuffer(56 + name.length + code.length));
    record.setUint32(0, 0, true);
    record.setUint32(4, record.byteLength, true);
    record.setBigUint64(8, time, true);
    record.setUint32(16, PID, true);
    record.setUint32(20, PID, true);
    record.setBigUint64(24, address, true);
    record.setBigUint64(32, address, true);
    record.setBigUint64(40, BigInt(code.length), true);
    record.setBigUint64(48, BigInt(i), true);
    const all = new Uint8Array(record.buffer);
    all.set(name, 56);
    all.set(code, 56 + name.length);
    parts.push(all);
  }
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

Deno.test("pt: code of a JIT compiler depends on the time", async () => {
  const at = 0x7000_0000n;
  const late = FIRST_TSC + 1_000_000n;
  const dump = jitdump([
    { time: timeOf(FIRST_TSC) - 100n, address: at, code: bytes("90 ff e0") },
    { time: timeOf(FIRST_TSC + 500_000n), address: at, code: bytes("66 90 90 ff e0") },
  ]);
  const path = `/tmp/.debug/jit/jit-${PID}.dump`;
  const trace = encodePackets([
    ...psb(FIRST_TSC, at),
    ip("TIP", at),
    // A mapping signals a change of the code, as a mapping by a compiler does.
    ...psb(late, at),
    ip("TIP", at),
  ]);
  const { insns, errors } = await decode(
    [
      ...START,
      itrace(),
      mmap(path, 0x6000_0000n, 0x1000n, timeOf(FIRST_TSC) - 20n),
      mmap("//anon", at, 0x1000n, timeOf(FIRST_TSC) - 10n),
      mmap("//anon", at + 0x1000n, 0x1000n, timeOf(FIRST_TSC + 600_000n)),
      ...auxItems(trace, { cpu: 0, tid: -1, idx: 0 }),
    ],
    { file: (name) => name === path ? bytesSource(dump) : undefined },
  );
  assertEquals(insns, [
    `${PID}:70000000`,
    `${PID}:70000001`,
    `${PID}:70000000`,
    `${PID}:70000002`,
    `${PID}:70000003`,
  ]);
  assertEquals(errors, 0);
});

Deno.test("pt: a forked process runs the code of a JIT compiler that its parent had then", async () => {
  const at = 0x7000_0000n;
  const child = PID + 1;
  const ticks = (n: bigint) => timeOf(FIRST_TSC + n);
  const dump = jitdump([
    { time: ticks(0n) - 100n, address: at, code: bytes("90 ff e0") },
    { time: ticks(700_000n), address: at, code: bytes("66 90 90 ff e0") },
  ]);
  const path = `/tmp/.debug/jit/jit-${PID}.dump`;
  const body = { pid: child, ppid: PID, tid: child, ptid: PID, time: ticks(300_000n) };
  const fork: Item = {
    record: { type: 7, name: "FORK", misc: 0, body, sample_id: sample(ticks(300_000n)) },
    event: 1,
  };
  const switched: Item = {
    record: {
      ...{ type: 15, name: "SWITCH_CPU_WIDE", misc: 0 },
      body: { next_prev_pid: PID, next_prev_tid: PID },
      sample_id: { ...sample(ticks(600_000n), 0, child), pid: child },
    },
    event: 1,
  };
  const trace = encodePackets([
    ...psb(FIRST_TSC, at),
    ip("TIP", at),
    ...psb(FIRST_TSC + 1_000_000n, at),
    ip("TIP", at),
  ]);
  const { insns, errors } = await decode(
    [
      ...START,
      itrace(),
      mmap(path, 0x6000_0000n, 0x1000n, ticks(0n) - 20n),
      mmap("//anon", at, 0x1000n, ticks(0n) - 10n),
      fork,
      switched,
      ...auxItems(trace, { cpu: 0, tid: -1, idx: 0 }),
    ],
    { file: (name) => name === path ? bytesSource(dump) : undefined },
  );
  const old = ["70000000", "70000001"];
  assertEquals(insns, [...old.map((ip) => `${PID}:${ip}`), ...old.map((ip) => `${child}:${ip}`)]);
  assertEquals(errors, 0);
});

Deno.test("pt: a thread that moves from one CPU to another and back keeps its instructions", async () => {
  const [a, b] = [0x40_1000n, 0x40_2000n];
  const code = new Uint8Array(0x3000);
  code.set(bytes("90 ff e0"), 0x1000);
  code.set(bytes("90 90 ff e0"), 0x2000);
  const t = (n: bigint) => FIRST_TSC + n * 1_000_000n;
  const change = (n: bigint, cpu: number, tid: number): Item => ({
    record: {
      type: 15,
      name: "SWITCH_CPU_WIDE",
      misc: 0,
      body: { next_prev_pid: 0, next_prev_tid: 0 },
      sample_id: { ...sample(timeOf(t(n)) - 1000n, cpu, tid), pid: tid === 0 ? 0 : PID },
    },
    event: 1,
  });
  const leave = (at: bigint): Packet[] => [ip("TIP", at), ip("FUP", at), ip("TIP.PGD")];
  const cpu0 = encodePackets([
    ...psb(t(1n), a),
    ...leave(a),
    { type: "TSC", tsc: t(5n) },
    ip("TIP.PGE", b),
    ...leave(b),
  ]);
  const cpu1 = encodePackets([...psb(t(3n)), ip("TIP.PGE", b), ...leave(b)]);
  const other = PID + 1;
  const { insns, errors } = await decode(
    [
      ...START,
      itrace(),
      mmap("/bin/program", 0x40_0000n, 0x3000n, timeOf(FIRST_TSC) - 5n),
      change(1n, 0, PID),
      change(1n, 1, other),
      change(2n, 0, 0),
      change(3n, 1, PID),
      change(4n, 1, other),
      change(5n, 0, PID),
      ...auxItems(cpu0, { cpu: 0, tid: -1, idx: 0 }),
      ...auxItems(cpu1, { cpu: 1, tid: -1, idx: 1 }),
    ],
    { open: () => ({ source: bytesSource(code) }) },
  );
  assertEquals(errors, 0);
  assertEquals(
    insns,
    [
      ...["401000", "401001"],
      ...["402000", "402001", "402002"],
      ...["402000", "402001", "402002"],
    ].map((address) => `${PID}:${address}`),
  );
});

/**
 * A host that enters a guest and leaves it, twice. Both have code at one address; the guest's code
 * is longer.
 *
 * The second time, the PSB lies in the guest, and its PSB+ says so.
 */
function guestTrace(at: bigint): Uint8Array {
  const pip = (nr: boolean): Packet => ({ type: "PIP", cr3: nr ? 0x5000n : 0x4000n, nr });
  const t = (n: bigint) => FIRST_TSC + n * 1_000_000n;
  return encodePackets([
    ...psb(t(1n), at),
    // vmlaunch ends the host's code and leads to the guest's address.
    pip(true),
    ip("TIP", at),
    ip("TIP", at),
    // A VM exit is asynchronous: the FUP gives its source, the TIP its target.
    ip("FUP", at + 1n),
    pip(false),
    ip("TIP", at + 0x10n),
    ip("TIP", at),
    pip(true),
    ip("TIP", at),
    { type: "PSB" },
    { type: "TSC", tsc: t(2n) },
    pip(true),
    { type: "MODE.Exec", csL: true, csD: false, interruptFlag: false },
    ip("FUP", at),
    { type: "PSBEND" },
    ip("TIP", at),
    ip("FUP", at + 1n),
    pip(false),
    ip("TIP", at + 0x10n),
    ip("TIP", at + 0x10n),
  ]);
}
const GUEST_AT = 0xffff_ffff_8100_0000n;
/** nop; vmlaunch, and at 0x10 nop; jmp rax. */
const HOST_CODE = bytes("90 0f 01 c2 90 90 90 90 90 90 90 90 90 90 90 90 90 ff e0");
/** nop; nop; jmp rax. */
const GUEST_CODE = bytes("90 90 ff e0");

Deno.test("pt: a guest's code differs from the host's at the same address", async () => {
  const items = [
    ...START,
    itrace(),
    ...auxItems(guestTrace(GUEST_AT), { cpu: 0, tid: -1, idx: 0 }),
  ];
  const host = memoryImages(bytesSource(HOST_CODE), GUEST_AT);
  const guest = memoryImages(bytesSource(GUEST_CODE), GUEST_AT);
  const insns = (...low: string[]) => low.map((digit) => `${PID}:810000${digit}`);
  const [of, left] = [insns("00", "01", "02"), insns("10", "11")];
  const both = await decode(items, {}, host, guest);
  // Up to the source of the exit: one nop of the guest.
  const exit = insns("00");
  const once = [...insns("00", "01"), ...of, ...exit, ...left];
  assertEquals(both.insns, [...once, ...once]);
  assertEquals(both.errors, 0);
  // Missing code is an error; the decoder never uses the other side's code.
  const hostOnly = await decode(items, {}, host);
  assertEquals(hostOnly.insns.filter((insn) => insn.endsWith("02")), []);
  assertEquals(hostOnly.insns.slice(0, 2), insns("00", "01"));
  assert(hostOnly.errors > 0);
  const guestOnly = await decode(items, {}, [], guest);
  assertEquals(guestOnly.insns.filter((insn) => /1[01]$/.test(insn)), []);
  assert(guestOnly.errors > 0);
});

Deno.test("pt: if packets between a PIP and its address are lost, code is still of the right side", async () => {
  const host = memoryImages(bytesSource(HOST_CODE), GUEST_AT);
  const guest = memoryImages(bytesSource(GUEST_CODE), GUEST_AT);
  const pip = (nr: boolean): Packet => ({ type: "PIP", cr3: nr ? 0x5000n : 0x4000n, nr });
  const insns = (...low: string[]) => low.map((digit) => `${PID}:810000${digit}`);
  let cases = 0;
  // Tracing resumes immediately, or later.
  for (const again of ["FUP", "TIP.PGE"] as const) {
    for (const enters of [true, false]) {
      const at = enters ? GUEST_AT : GUEST_AT + 0x10n;
      const [start, tsc, mode, ...rest] = psb(FIRST_TSC, GUEST_AT);
      const trace = encodePackets([
        ...[start, tsc, pip(!enters), mode, ...rest] as Packet[],
        // A VM exit has a source address.
        ...(enters ? [] : [ip("FUP", GUEST_AT + 1n)]),
        pip(enters),
        { type: "OVF" },
        ip(again, at),
        ip("TIP", at),
        ip("TIP", at),
      ]);
      const items = [...START, itrace(), ...auxItems(trace, { cpu: 0, tid: -1, idx: 0 })];
      const found = await decode(items, {}, host, guest);
      const once = enters ? insns("00", "01", "02") : insns("10", "11");
      assertEquals(found.insns.slice(-2 * once.length), [...once, ...once], `${again} ${enters}`);
      // Before the loss, no instruction of the other side: the target of the branch was lost.
      const before = found.insns.slice(0, -2 * once.length);
      const of = enters ? insns("00", "01") : insns("00");
      assertEquals(before, of.slice(0, before.length), `${again} ${enters}`);
      assertEquals(found.errors, 1);
      cases++;
    }
  }
  assertEquals(cases, 4);
});

/** An ELF file with {@linkcode GUEST_CODE} at its address. */
function guestKernel(): Uint8Array {
  const file = (offset: bigint) =>
    writeElf({
      ...{ is64: true, littleEndian: true, type: 2, machine: 62 },
      sections: [{ name: ".text", type: 1, flags: 6, addr: GUEST_AT, bytes: GUEST_CODE }],
      segments: [{
        ...{ type: 1, flags: 5, offset, vaddr: GUEST_AT },
        ...{ filesz: BigInt(GUEST_CODE.length), memsz: BigInt(GUEST_CODE.length) },
      }],
    });
  const at = file(0n).findIndex((_, i, all) => GUEST_CODE.every((byte, k) => all[i + k] === byte));
  return file(BigInt(at));
}

Deno.test("pt --guest-image: works with any number of threads; without it, the error names the option", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-guest-" });
  try {
    const recording = {
      events: ptEvents(0x2401n, false),
      items: [
        ...START,
        itrace(),
        ...auxItems(guestTrace(GUEST_AT), { cpu: 0, tid: -1, idx: 0 }),
      ],
      features: PT_FEATURES,
    };
    Deno.writeFileSync(`${folder}/perf.data`, await asFile(recording, true));
    Deno.writeFileSync(`${folder}/host`, HOST_CODE);
    Deno.writeFileSync(`${folder}/guest`, GUEST_CODE);
    const at = `@0x${GUEST_AT.toString(16)}`;
    const images = ["--image", `host${at}`, "--guest-image", `guest${at}`];
    const rows = new Set<string>();
    for (const jobs of ["1", "2", "3", "7"]) {
      const args = ["--jobs", jobs, "--json", ...images, "perf.data"];
      const { out, code, err } = await tool("pt", args, { cwd: folder });
      assertEquals(code, 0, err);
      rows.add(out);
    }
    assertEquals(rows.size, 1);
    const [text = ""] = rows;
    // 2 x (2 + 2) of the host, 2 x (3 + 1) of the guest.
    const insns = text.trimEnd().split("\n").map((line) => JSON.parse(line))
      .map(({ object, insns }) => [object === "[guest]", insns]);
    const sum = (isGuest: boolean) =>
      insns.reduce((all, [of, n]) => all + (of === isGuest ? n : 0), 0);
    assertEquals([sum(false), sum(true)], [8, 8], text);
    // The same code in an ELF file of the guest's kernel.
    Deno.writeFileSync(`${folder}/vmlinux`, guestKernel());
    const named = ["--json", "--image", `host${at}`, "--guest-vmlinux", "vmlinux", "perf.data"];
    const ran = (await tool("pt", named, { cwd: folder })).out.trimEnd().split("\n")
      .map((line) => JSON.parse(line)).map(({ object, insns }) => `${object} ${insns}`);
    assertEquals(ran.sort(), ["[unknown] 8", "vmlinux 8"]);
    const { code, err } = await tool("pt", images.slice(0, 2).concat("perf.data"), { cwd: folder });
    assertEquals(code, 1);
    assert(err.includes("[guest]") && err.includes("--guest-image"), err);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("pt: kernel code comes from the file, relocated to the running kernel's addresses", async (t) => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-kernel-" });
  try {
    const linked = 0xffff_ffff_8100_0000n;
    const moved = 0x1a00_0000n;
    const text = `.globl _text
_text: nop
 call f
 jmp *%rax
f: inc %eax
 ret
`;
    Deno.writeTextFileSync(`${folder}/kernel.S`, text);
    const args = ["-nostdlib", "-static", "-Wl,-e,_text", `-Wl,-Ttext=0x${linked.toString(16)}`];
    const vmlinux = `${folder}/vmlinux`;
    try {
      const command = [...args, "-Wl,--build-id=none", "-o", vmlinux, `${folder}/kernel.S`];
      const { success } = new Deno.Command("gcc", { args: command, stderr: "null" }).outputSync();
      if (!success) throw new Error("gcc cannot link at the addresses of a kernel");
    } catch (error) {
      return await skipped(t, `${(error as Error).message}`);
    }
    const start = linked + moved;
    const map: Item = {
      record: {
        type: 1,
        name: "MMAP",
        misc: 1,
        body: {
          pid: -1,
          tid: 0,
          addr: start,
          len: 0x1000n,
          pgoff: start,
          filename: "[kernel.kallsyms]_text",
        },
        sample_id: sample(timeOf(FIRST_TSC) - 10n),
      },
      event: 1,
    };
    const trace = encodePackets([
      ...psb(FIRST_TSC, start),
      // The return to after the call, and the jump.
      { type: "TNT", long: false, count: 1, bits: 1n },
      ip("TIP", start),
    ]);
    const items = [...START, itrace(), map, ...auxItems(trace, { cpu: 0, tid: -1, idx: 0 })];
    const { insns, errors } = await decode(items, {
      open: (object) => openCodeFile(localFiles, object, { vmlinux }),
    });
    const offsets = [0, 1, 8, 10, 6];
    assertEquals(errors, 0);
    const addresses = offsets.map((offset) => start + BigInt(offset));
    assertEquals(
      insns,
      addresses.map((address) => `${PID}:${(address & 0xffff_ffffn).toString(16)}`),
    );
    const recording = { events: ptEvents(0x2401n, false), items, features: PT_FEATURES };
    Deno.writeFileSync(`${folder}/perf.data`, await asFile(recording, true));
    const printed = await perfText(
      ["script", "-k", vmlinux, "--itrace=i0ns", "-F", "ip"],
      `${folder}/perf.data`,
    );
    if (printed === undefined) return;
    const theirs = printed.stdout.trim().split(/\s+/).map((text) => BigInt(`0x${text}`));
    assertEquals(theirs, addresses);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("pt: a trace without branches is reported to have only events", async () => {
  const items = [
    ...START,
    itrace(),
    ...auxItems(
      encodePackets([...psb(FIRST_TSC), { type: "PTW", operandSize: 8, payload: 7n, ip: false }]),
      { cpu: 0, tid: -1, idx: 0 },
    ),
  ];
  const path = Deno.makeTempFileSync({ suffix: ".perf.data" });
  try {
    const recording = { events: ptEvents(0x401n, false), items, features: PT_FEATURES };
    Deno.writeFileSync(path, await asFile(recording, true));
    const { err } = await tool("pt", [path]);
    assertEquals(err, `pt: ${path}: recorded with branch=0: it has no flow; see pt --events\n`);
    const { out } = await tool("pt", ["--events", path]);
    assertEquals(/ptwrite 0x7\b/.test(out), true, out);
  } finally {
    Deno.removeSync(path);
  }
});
