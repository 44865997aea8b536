/** The lines of callers in a compiled program, compared with addr2line. */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import { PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER } from "@perfdata/format/constants";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { inFolder, tool } from "../support/tool.ts";
import { runs } from "../support/unwound.ts";
import { skipped } from "../support/ignored.ts";

// Code inlined after a call begins at the call's return address.
const PROGRAM = `volatile long sink;
__attribute__((noipa)) long spin(long n) { long s = 0; for (long i = 0; i < n; i++) s += i ^ sink; return s; }
static inline __attribute__((always_inline)) long mixed(long x) { sink = x; return x ^ sink; }
__attribute__((noipa)) long caller(long n)
{
  long a = spin(n);
  a = mixed(a);
  a += spin(2 * n);
  return a;
}
int main(void) {
  for (int i = 0; i < 3000; i++)
    sink += caller(6000);
  return 0;
}
`;
/** Link and load addresses of the program. */
const BASE = 0x40_0000n;
const KERNEL = 0xffff_ffff_8100_0000n;

interface Line {
  readonly line: number;
  readonly self: { readonly samples: number };
  readonly total: { readonly samples: number };
}

function output(command: string, ...args: string[]): string {
  return new TextDecoder().decode(new Deno.Command(command, { args }).outputSync().stdout);
}

/** The return addresses of a function's calls. */
function returns(program: string, to: string): bigint[] {
  const text = output("objdump", "-d", "--no-show-raw-insn", program);
  const after = new RegExp(`call.*<${to}>\\n\\s*([0-9a-f]+):`, "g");
  return [...text.matchAll(after)].map(([, address]) => BigInt(`0x${address}`));
}

/** The line of the function around code, even if other functions are inlined there. */
function lineOf(program: string, address: bigint): number {
  const text = output("addr2line", "-i", "-e", program, `0x${address.toString(16)}`);
  return Number(/:(\d+)/.exec(text.trimEnd().split("\n").at(-1) ?? "")?.[1] ?? 0);
}

interface Sampled {
  readonly misc: number;
  readonly ips: readonly bigint[];
}

async function recording(program: string, samples: readonly Sampled[]): Promise<Uint8Array> {
  const comm = { type: 3, name: "COMM", misc: 0, body: { pid: 7, tid: 7, comm: "work" } };
  const addresses = { pid: 7, tid: 7, addr: BASE, len: 0x1_0000n, pgoff: 0n };
  const map = { type: 1, name: "MMAP", misc: 2, body: { ...addresses, filename: program } };
  const items = [
    comm,
    map,
    ...samples.map(({ misc, ips }, i) => ({
      type: 9,
      name: "SAMPLE",
      misc,
      body: {
        ...{ ip: ips[1] ?? 0n, pid: 7, tid: 7, time: BigInt(1000 * i), period: 1n },
        callchain: [...ips],
      },
    })),
  ].map((record) => ({ record }) as Item);
  // IP, TID, TIME, CALLCHAIN
  const attr = { ...emptyAttr(), size: 120, sample_type: 0x27n, sample_period: 1n };
  return await asFile({ events: [{ attr, ids: [1n] }], items, features: [] }, true);
}

Deno.test("annotate: callers of call chains count at the lines of their calls", (t) =>
  inFolder(async (folder) => {
    const program = `${folder}/a`;
    Deno.writeTextFileSync(`${folder}/a.c`, PROGRAM);
    const failed = Deno.build.arch !== "x86_64"
      ? "the program is compiled for x86-64"
      : runs("gcc", "-O1", "-g", "-fno-pie", "-no-pie", "-o", program, `${folder}/a.c`) ??
        runs("addr2line", "--version") ?? runs("objdump", "--version");
    if (failed !== undefined) {
      await skipped(t, `lines of callers: ${failed}`);
      return;
    }
    const [first = 0n, second = 0n] = returns(program, "spin");
    const [main = 0n] = returns(program, "caller");
    const symbol = (name: string) =>
      BigInt(`0x${new RegExp(`^([0-9a-f]+) .* ${name}$`, "m").exec(output("nm", program))?.[1]}`);
    const [spin, caller] = [symbol("spin"), symbol("caller")];
    const samples: Sampled[] = [
      { misc: 2, ips: [PERF_CONTEXT_USER, spin + 4n, first, main] },
      { misc: 2, ips: [PERF_CONTEXT_USER, spin + 4n, first, main] },
      { misc: 2, ips: [PERF_CONTEXT_USER, spin + 4n, second, main] },
      // Just after the return.
      { misc: 2, ips: [PERF_CONTEXT_USER, first, main] },
      // The interrupted first instruction of a function: the byte before is in another one.
      { misc: 1, ips: [PERF_CONTEXT_KERNEL, KERNEL, PERF_CONTEXT_USER, caller, main] },
    ];
    const data = `${folder}/perf.data`;
    await Deno.writeFile(data, await recording(program, samples));
    const line = (address: bigint) => lineOf(program, address);
    const own = line(first);
    const entry = line(caller);
    const wanted = { first: line(first - 1n), second: line(second - 1n), main: line(main - 1n) };
    // Otherwise the compiler's code has nothing to compare.
    assert(wanted.first !== own, "the call and what follows it are in one line");

    const linesOf = async (name: string) => {
      const { code, out, err } = await tool("annotate", ["--json", data, name]);
      assertEquals(code, 0, err);
      return out.trimEnd().split("\n").map((text): Line => JSON.parse(text))
        .map(({ line, self, total }) => [line, self.samples, total.samples])
        .sort(([a = 0], [b = 0]) => a - b);
    };
    assertEquals(
      await linesOf("caller"),
      [[wanted.first, 0, 2], [wanted.second, 0, 1], [own, 0, 1], [entry, 0, 1]]
        .sort(([a = 0], [b = 0]) => a - b),
    );
    assertEquals(await linesOf("main"), [[wanted.main, 0, 5]]);

    const here = await tool("annotate", [data, "main"]);
    assert(!here.err.includes("source not found"), here.err);
    const elsewhere = await tool("annotate", ["--source", `${folder}/none`, data, "main"]);
    assert(
      elsewhere.err.includes(`source not found: ${folder}/a.c in ${folder}/none`),
      elsewhere.err,
    );

    // Code inlined after a call is not the caller; it was sampled once.
    const { out, err } = await tool("funcs", ["--children", "--inline", "--json", data]);
    const rows = out.trimEnd().split("\n").map((
      text,
    ): { sym: string; samples: number; children_samples: number } => JSON.parse(text));
    assertEquals(
      rows.filter(({ sym }) => sym === "mixed").map((row) => [row.samples, row.children_samples]),
      [[1, 1]],
      err,
    );
  }));
