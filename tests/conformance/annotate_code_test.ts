/**
 * `annotate`: instructions, sources, jumps and shares, compared with objdump, addr2line and perf.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import { PERF_CONTEXT_USER } from "@perfdata/format/constants";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { skipped } from "../support/ignored.ts";
import { perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";
import { runs } from "../support/unwound.ts";

const PROGRAM = `volatile long sink;
static inline __attribute__((always_inline)) long square(long x) {
  return x * x + sink;
}
static inline __attribute__((always_inline)) long twice(long x) {
  return square(x) + square(x + 1);
}
__attribute__((noinline)) long leaf(long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += i & 1 ? twice(i) : sink;
  return s;
}
__attribute__((noinline)) long caller(long n) {
  long a = leaf(n);
  a += leaf(2 * n) + twice(a);
  while (a > 100)
    a -= sink;
  return a;
}
int main(void) {
  return (int) caller(50);
}
`;
/** Link and load addresses of the programs. */
const BASE = 0x40_0000n;

interface Insn {
  readonly address: string;
  readonly bytes: string;
  readonly text: string;
  readonly samples: number;
  readonly total: { readonly samples: number };
  readonly jump?: string;
  readonly file?: string;
  readonly line?: number;
  readonly inlined: readonly string[];
}

interface Listed {
  readonly address: string;
  readonly bytes: string;
  readonly text: string;
}

function output(command: string, ...args: string[]): string {
  return new TextDecoder().decode(
    new Deno.Command(command, { args, stderr: "null" }).outputSync().stdout,
  );
}

/** The instructions of a function in objdump or llvm-objdump. */
function listed(objdump: string, program: string, name: string): Listed[] {
  const text = output(objdump, "-d", program);
  const from = text.indexOf(`<${name}>:\n`);
  const body = text.slice(from).split("\n\n")[0] ?? "";
  const rows: Listed[] = [];
  for (const line of body.split("\n").slice(1)) {
    const [, address, bytes = "", text = ""] = /^ *([0-9a-f]+):\s((?:[0-9a-f]{2} )+)\s*(.*)$/
      .exec(line) ?? [];
    const last = rows.at(-1);
    const hex = bytes.replaceAll(" ", "");
    // Long instructions continue on a second line.
    if (address !== undefined && text === "" && last !== undefined) {
      rows[rows.length - 1] = { ...last, bytes: last.bytes + hex };
    } else if (address !== undefined) rows.push({ address: `0x${address}`, bytes: hex, text });
  }
  // Padding up to the next function is not part of it.
  const [, start = "0", size = "0"] =
    new RegExp(`^([0-9a-f]+) ([0-9a-f]+) \\w ${name}$`, "m").exec(output("nm", "-S", program)) ??
      [];
  const end = BigInt(`0x${start}`) + BigInt(`0x${size}`);
  return rows.filter(({ address }) => BigInt(address) < end);
}

async function recording(
  program: string,
  chains: readonly (readonly bigint[])[],
  arch: string,
): Promise<Uint8Array> {
  const comm = { type: 3, name: "COMM", misc: 0, body: { pid: 7, tid: 7, comm: "work" } };
  const [, offset, address, size] =
    /LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x\w+ 0x(\w+) R E/.exec(output("readelf", "-lW", program)) ?? [];
  const hex = (text: string | undefined) => BigInt(`0x${text}`);
  // Whole pages, as the loader maps them.
  const before = hex(address) % 4096n;
  const addresses = {
    ...{ pid: 7, tid: 7, addr: hex(address) - before, pgoff: hex(offset) - before },
    len: hex(size) + 4096n,
  };
  const map = { type: 1, name: "MMAP", misc: 2, body: { ...addresses, filename: program } };
  const items = [
    comm,
    map,
    ...chains.map((ips, i) => ({
      type: 9,
      name: "SAMPLE",
      misc: 2,
      body: {
        ...{ ip: ips[0] ?? 0n, pid: 7, tid: 7, time: BigInt(1000 * i), period: 1n },
        callchain: [PERF_CONTEXT_USER, ...ips],
      },
    })),
  ].map((record) => ({ record }) as Item);
  // IP, TID, TIME, CALLCHAIN
  const attr = { ...emptyAttr(), size: 120, sample_type: 0x27n, sample_period: 1n };
  const features = [{ id: 6, name: "ARCH" as const, value: arch }];
  return await asFile({ events: [{ attr, ids: [1n] }], items, features }, true);
}

/** Output of `--insns --json` for a function. */
async function insnsOf(data: string, wanted: string, ...flags: string[]): Promise<Insn[]> {
  const { code, out, err } = await tool("annotate", ["--insns", "--json", ...flags, data, wanted]);
  assertEquals(code, 0, err);
  return out.trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** Jumps within a function, by its disassembly. */
function jumpsOf(rows: readonly Listed[], isJump: RegExp): (string | undefined)[] {
  const all = new Set(rows.map(({ address }) => address));
  return rows.map(({ text }) => {
    const [, target] = isJump.exec(text) ?? [];
    const to = target === undefined ? undefined : `0x${target.replace(/^0x/, "")}`;
    return to !== undefined && all.has(to) ? to : undefined;
  });
}

/** Functions at an address, outermost first, with lines, by addr2line. */
function framesOf(
  addr2line: string,
  program: string,
  addresses: readonly string[],
): string[][] {
  const text = output(addr2line, "-i", "-f", "-a", "-e", program, ...addresses);
  return text.trimEnd().split(/^0x[0-9a-f]+\n/m).slice(1).map((frames) => {
    const lines = frames.trimEnd().split("\n");
    const found: string[] = [];
    for (let i = 0; i < lines.length; i += 2) {
      found.unshift(`${lines[i]} ${/:(\d+)/.exec(lines[i + 1] ?? "")?.[1]}`);
    }
    return found;
  });
}

/** Instructions with samples: of the instruction, and of functions called there, too. */
function counted(insns: readonly Insn[]): unknown[] {
  return insns.filter(({ total }) => total.samples > 0)
    .map(({ address, samples, total }) => [address, samples, total.samples]);
}

Deno.test("annotate, x86: code, jumps, inlined functions and shares are those of objdump, addr2line and perf", (t) =>
  inFolder(async (folder) => {
    const program = `${folder}/a`;
    Deno.writeTextFileSync(`${folder}/a.c`, PROGRAM);
    const failed = Deno.build.arch !== "x86_64"
      ? "the program is compiled for x86-64"
      : runs("gcc", "-O2", "-g", "-fno-pie", "-no-pie", "-o", program, `${folder}/a.c`) ??
        runs("addr2line", "--version") ?? runs("objdump", "--version");
    if (failed !== undefined) return await skipped(t, `code of x86: ${failed}`);
    const leaf = listed("objdump", program, "leaf");
    const caller = listed("objdump", program, "caller");
    const calls = caller.filter(({ text }) => /^call.*<leaf>/.test(text));
    assertEquals(calls.length, 2);
    const after = ({ address }: Listed) =>
      BigInt(caller[caller.findIndex((row) => row.address === address) + 1]?.address ?? 0);
    const at = (rows: readonly Listed[], i: number) => BigInt(rows[i]?.address ?? 0);
    const [first, second] = calls as [Listed, Listed];
    const chains = [
      ...Array(3).fill([at(leaf, 4), after(first)]),
      ...Array(2).fill([at(leaf, 6), after(second)]),
      [at(caller, 5)],
    ];
    const data = `${folder}/perf.data`;
    Deno.writeFileSync(data, await recording(program, chains, "x86_64"));

    for (const [name, rows] of [["leaf", leaf], ["caller", caller]] as const) {
      const ours = await insnsOf(data, name);
      assert(rows.length > 15);
      assertEquals(
        ours.map(({ address, bytes }) => [address, bytes]),
        rows.map(({ address, bytes }) => [address, bytes]),
      );
      const jumps = jumpsOf(rows, /^j\w+ +([0-9a-f]+)/);
      assert(jumps.filter((to) => to !== undefined).length >= 2);
      assertEquals(ours.map(({ jump }) => jump), jumps);
      const frames = framesOf("addr2line", program, rows.map(({ address }) => address));
      assertEquals(
        ours.map(({ line, inlined }) => [line, inlined]),
        frames.map((own) => [
          Number(own.at(-1)?.split(" ")[1]) || 0,
          own.slice(1).map((frame) => frame.split(" ")[0] as string),
        ]),
      );
      assert(ours.some(({ inlined }) => inlined.join() === "twice,square"));
    }
    assertEquals(counted(await insnsOf(data, "leaf")), [
      [leaf[4]?.address, 3, 3],
      [leaf[6]?.address, 2, 2],
    ]);
    const wanted = [[first.address, 0, 3], [second.address, 0, 2], [caller[5]?.address, 1, 1]];
    assertEquals(
      counted(await insnsOf(data, "caller")),
      wanted.sort(([a], [b]) => String(a) < String(b) ? -1 : 1),
    );

    await t.step(
      "annotate --insns: source lines precede their instructions, calls have names",
      async () => {
        const { code, out } = await tool("annotate", ["--context", "99", data, "caller"]);
        assertEquals(code, 0);
        assertStringIncludes(out, "caller? in a: 6 samples, 100.00% of ");
        const lines = out.split("\n");
        const call = lines.findIndex((line) => line.includes(`${first.address.slice(2)}:  call`));
        assertStringIncludes(lines[call] as string, " 50.00% ");
        assertStringIncludes(lines[call] as string, "<leaf>");
        assert(lines.slice(0, call).some((line) => line.includes("a.c:15  long a = leaf(n);")));
        assert(/ twice \(inlined\) a\.c:6 /.test(out), out);
        assert(/^ *[│├┼─╭╰┬┴>]+ +\w+:/m.test(out), out);
      },
    );
    await t.step("annotate: a function is found by address and by source line", async () => {
      const byName = await insnsOf(data, "leaf");
      assertEquals(await insnsOf(data, leaf[2]?.address as string), byName);
      const line = byName.find(({ samples }) => samples > 0)?.line;
      assertEquals(await insnsOf(data, `a.c:${line}`), byName);
      const none = await tool("annotate", [data, "a.c:99"]);
      assertEquals(none.code, 1);
      assertStringIncludes(none.err, "no samples at a.c:99; there are at lines ");
      const nowhere = await tool("annotate", [data, "0x10"]);
      assertEquals(nowhere.code, 1);
    });
    await t.step("annotate: samples are at the addresses of perf annotate", async (t) => {
      const args = ["annotate", "--stdio", "--show-nr-samples", "-s", "leaf"];
      const theirs = await perfText(args, data);
      if (theirs === undefined) return await skipped(t, "perf is not installed");
      const rows = [...theirs.stdout.matchAll(/^ *(\d+) : +([0-9a-f]+): /gm)]
        .map(([, samples, address]) => [`0x${address}`, Number(samples)]);
      const ours = await insnsOf(data, "leaf");
      assertEquals(ours.map(({ address, samples }) => [address, samples]), rows, theirs.stderr);
    });
  }));

/**
 * Text of an instruction without the parts in which disassemblers differ: spaces, numbers, symbols,
 * comments.
 */
function plain(text: string): string {
  return text.replace(/ *(<.*>|\/\/.*)/g, "").replace(
    /#?(-?)(0x[0-9a-f]+|\b\d+\b)/g,
    (_, sign, number) => `${sign}${BigInt(number)}`,
  ).replace(/\s+/g, " ").replaceAll("lsl 0", "").trim();
}

/** A function of AArch64 with literals between its instructions and after them. */
const LITERALS = `
  .text
  .globl literals
  .type literals, %function
literals:
  ldr x0, =0x123456789abcdef0
  ldr q1, [x0], #-16
  paciasp
  b 1f
  .ltorg
  .hword 0x1234
  .balign 4
1:
  ldr w1, 2f
  autiasp
  cbz w1, literals
  ret
2:
  .word 0xd65f03c0
  .size literals, . - literals
`;

Deno.test("annotate, AArch64: code, jumps, inlined functions, data and shares are those of llvm-objdump and llvm-addr2line", (t) =>
  inFolder(async (folder) => {
    const program = `${folder}/a`;
    Deno.writeTextFileSync(`${folder}/a.c`, PROGRAM);
    Deno.writeTextFileSync(`${folder}/b.s`, LITERALS);
    const failed = runs(
      "clang",
      ...["--target=aarch64-linux-gnu", "-O2", "-g", "-nostdlib", "-static", "-fuse-ld=lld"],
      ...["-march=armv8.3-a", `-Wl,--image-base=0x${BASE.toString(16)}`, "-Wl,-e,main"],
      ...["-o", program, `${folder}/a.c`, `${folder}/b.s`],
    ) ?? runs("llvm-objdump", "--version") ?? runs("llvm-addr2line", "--version");
    if (failed !== undefined) return await skipped(t, `code of AArch64: ${failed}`);
    const data = `${folder}/perf.data`;
    const [leaf, caller] = ["leaf", "caller"].map((name) => listed("llvm-objdump", program, name));
    assert(leaf !== undefined && caller !== undefined);
    const calls = caller.filter(({ text }) => /^bl\s.*<leaf>/.test(text));
    assertEquals(calls.length, 2);
    const [first, second] = calls as [Listed, Listed];
    const at = (rows: readonly Listed[], i: number) => BigInt(rows[i]?.address ?? 0);
    const after = ({ address }: Listed) => BigInt(address) + 4n;
    const literals = BigInt(
      `0x${/^(\w+) .*\bliterals$/m.exec(output("llvm-nm", program))?.[1] ?? 0}`,
    );
    const chains = [
      ...Array(3).fill([at(leaf, 4), after(first)]),
      ...Array(2).fill([at(leaf, 6), after(second)]),
      [at(caller, 5)],
      [literals],
    ];
    Deno.writeFileSync(data, await recording(program, chains, "aarch64"));

    for (const [name, rows] of [["leaf", leaf], ["caller", caller]] as const) {
      const ours = await insnsOf(data, name);
      assert(rows.length > 15);
      assertEquals(
        ours.map(({ address, text }) => [address, plain(text)]),
        rows.map(({ address, text }) => [address, plain(text)]),
      );
      const jumps = jumpsOf(rows, /^(?:b|b\.\w+|cbn?z|tbn?z)\s.*?(0x[0-9a-f]+) </);
      assert(jumps.filter((to) => to !== undefined).length >= 2);
      assertEquals(ours.map(({ jump }) => jump), jumps);
      const frames = framesOf("llvm-addr2line", program, rows.map(({ address }) => address));
      assertEquals(
        ours.map(({ line, inlined }) => [line ?? 0, inlined]),
        frames.map((own) => [
          Number(own.at(-1)?.split(" ")[1]) || 0,
          own.slice(1).map((frame) => frame.split(" ")[0] as string),
        ]),
      );
      assert(ours.some(({ inlined }) => inlined.join() === "twice,square"));
    }
    assertEquals(counted(await insnsOf(data, "leaf")), [
      [leaf[4]?.address, 3, 3],
      [leaf[6]?.address, 2, 2],
    ]);
    const wanted = [[first.address, 0, 3], [second.address, 0, 2], [caller[5]?.address, 1, 1]];
    assertEquals(
      counted(await insnsOf(data, "caller")),
      wanted.sort(([a], [b]) => String(a) < String(b) ? -1 : 1),
    );
    const { out } = await tool("annotate", ["--context", "99", data, "caller"]);
    const lines = out.split("\n");
    const call = lines.findIndex((line) => line.includes(`${first.address.slice(2)}:  bl`));
    assert(/ 42\.86% .*<leaf>/.test(lines[call] as string), lines[call]);
    assert(lines.slice(0, call).some((line) => line.includes("a.c:15  long a = leaf(n);")), out);
    assert(/ twice \(inlined\) a\.c:6 /.test(out), out);

    await t.step("annotate, AArch64: literals are data, and no jumps", async () => {
      const rows = await insnsOf(data, "literals");
      const words = (from: number, ...texts: string[]) =>
        texts.map((text, i) => [`0x${(literals + BigInt(from + 4 * i)).toString(16)}`, text]);
      assertEquals(
        rows.slice(4).map(({ address, text }) => [address, text.replace(/\s+/g, " ")])
          .filter(([, text]) => text?.startsWith(".")),
        [
          ...words(16, ".word 0x9abcdef0", ".word 0x12345678"),
          ...words(24, ".word 0x00001234"),
          ...words(44, ".word 0xd65f03c0"),
        ],
      );
      assert(rows[1]?.text.endsWith("q1, [x0], #-0x10"), rows[1]?.text);
      assertEquals(rows.map(({ jump }) => jump).filter((to) => to !== undefined), [
        `0x${(literals + 28n).toString(16)}`,
        `0x${literals.toString(16)}`,
      ]);
    });
  }));
