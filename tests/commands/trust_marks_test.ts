/** Names from files that nothing verifies have a mark in every output, and those that are verified have none. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { emptyAttr } from "@perfdata/format";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { type EncodeOptions } from "../../fixtures/stepped/encode.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { ignored } from "../support/ignored.ts";
import { inFolder, tool } from "../support/tool.ts";

const DEMO = new URL("../../fixtures/demo/demo", import.meta.url).pathname;
/** As `readelf -n` and `readelf -s` of the demo have them. */
const BUILD_ID = "8b035e73d518af16372e3cd572f60f18f787551b";
const FIB = 0x4011f8n, WORK = 0x401290n;
/** PERF_CONTEXT_USER */
const USER = -512n;

/** Two threads of a program, whose mapping has a build id or none; each sample is in `fib`, called by `work`. */
async function recording(path: string, buildId: string | undefined): Promise<Uint8Array> {
  const flags = { ...emptyAttr().flags, sample_id_all: true, mmap2: true };
  // IP, TID, TIME, CALLCHAIN
  const attr = { ...emptyAttr(), size: 120, sample_type: 0x27n, sample_period: 3n, flags };
  const map = {
    record: {
      type: 10,
      name: "MMAP2",
      misc: buildId === undefined ? 2 : 0x4002,
      body: {
        ...{ pid: 7, tid: 7, addr: 0x401000n, len: 0x1000n, pgoff: 0x1000n },
        ...(buildId === undefined ? { maj: 8, min: 1, ino: 99n, ino_generation: 0n } : {
          ...{ build_id_size: 20, __reserved_1: 0, __reserved_2: 0 },
          build_id: Uint8Array.fromHex(buildId),
        }),
        ...{ prot: 5, flags: 2, filename: path },
      },
    },
  } as Item;
  const samples = Array.from({ length: 40 }, (_, i) => ({
    record: {
      type: 9,
      name: "SAMPLE",
      misc: 2,
      body: {
        ...{ ip: FIB, pid: 7, tid: 7 + i % 2, time: BigInt(1000 * (i + 1)) },
        callchain: [USER, FIB, WORK].map((ip) => BigInt.asUintN(64, ip)),
      },
    },
  } as Item));
  return await asFile(
    { events: [{ attr, ids: [1n] }], items: [map, ...samples], features: [] },
    true,
  );
}

async function unpacked(path: string): Promise<string> {
  const stream = new Blob([Deno.readFileSync(path)]).stream()
    .pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).text();
}

/** Commands that print names, or write them to a file. */
const TEXTS: readonly (readonly string[])[] = [
  ["script"],
  ["script", "-F", "ip,sym,symoff"],
  ["funcs"],
  ["funcs", "--csv"],
  ["tree"],
  ["tree", "--callers"],
  ["funcs", "--children", "-g", "caller"],
  ["annotate", "fib"],
  ["annotate", "fib", "--insns"],
  ["export", "folded", "-o", "-"],
  ["export", "speedscope", "-o", "-"],
  ["export", "chrome", "-o", "-"],
  ["export", "callgrind", "-o", "-"],
  ["flame", "-f", "-o", "flame.svg"],
  ["export", "firefox", "-f", "-o", "profile.json.gz"],
  ["export", "pprof", "-f", "-o", "profile.pb.gz"],
];
const ROWS: readonly (readonly string[])[] = [
  ["funcs", "--json"],
  ["tree", "--json"],
  ["annotate", "fib", "--json"],
];

Deno.test("names that nothing verifies are marked in each format, and their share is said", async () => {
  let compared = 0;
  await inFolder(async (cwd) => {
    const program = `${cwd}/program`;
    Deno.copyFileSync(DEMO, program);
    for (const buildId of [undefined, BUILD_ID]) {
      const isVerified = buildId !== undefined;
      Deno.writeFileSync(`${cwd}/perf.data`, await recording(program, buildId));
      const textOf = async ([command = "", ...args]: readonly string[]) => {
        const { code, out, err } = await tool(
          command,
          command === "annotate" ? args : [...args, "perf.data"],
          { cwd },
        );
        assertEquals(code, 0, `${command}: ${err}`);
        const about = /100(\.00)?% (of samples\) are not verified|by files that nothing verifies)/;
        assertEquals(about.test(err), !isVerified, `${command} ${args}: ${err}`);
        const file = args.at(-1) ?? "";
        return file.endsWith(".gz")
          ? await unpacked(`${cwd}/${file}`)
          : file.endsWith(".svg")
          ? Deno.readTextFileSync(`${cwd}/${file}`)
          : out;
      };
      for (const args of TEXTS) {
        const text = await textOf(args);
        assertStringIncludes(text, isVerified ? "fib" : "fib?", `${args}`);
        assertEquals(text.includes("fib?"), !isVerified, `${args}: ${text.slice(0, 2000)}`);
        compared++;
      }
      const records = ["--type", "SAMPLE", "--symbols", "perf.data"];
      const { out, err } = await tool("records", records, { cwd });
      assertEquals(out.split('"sym":"fib"').length, 1 + 2 * 40);
      assertEquals(out.includes('"verified":false'), !isVerified);
      const share = "2 of 2 addresses have a function of a file that nothing verifies";
      assertEquals(err.includes(share), !isVerified, err);
      compared++;
      for (const args of ROWS) {
        const text = await textOf(args);
        const [row = ""] = text.split("\n").filter((line) => line.includes('"fib"'));
        assertEquals(row.includes('"verified":false'), !isVerified, `${args}: ${text}`);
        compared++;
      }
    }
  });
  console.log(`marks: ${compared} outputs`);
  assert(compared >= 40);
});

/** Commands that print names of what a trace executed, or write them to a file. */
const PT_TEXTS: readonly (readonly string[])[] = [
  ["pt"],
  ["pt", "--calls"],
  ["pt", "--latency", "fib"],
  ["pt", "--branches", "--function", "fib"],
  ["pt", "--insns", "--function", "fib"],
  ["pt", "--packets"],
  ["script", "--itrace=bep", "-F", "ip,sym,symoff,dso,addr"],
  ["script", "--call-trace"],
  ["script", "--itrace=i2000igl", "-F", "+brstacksym"],
  ["export", "--pt", "folded", "-o", "-"],
  ["export", "--pt", "chrome", "-o", "-"],
  ["export", "--pt", "speedscope", "-o", "-"],
  ["flame", "--pt", "-f", "-o", "flame.svg"],
  ["export", "--pt", "firefox", "-f", "-o", "profile.json.gz"],
  ["export", "--pt", "pprof", "-f", "-o", "profile.pb.gz"],
];
const PT_ROWS: readonly (readonly string[])[] = [
  ["pt", "--json"],
  ["pt", "--calls", "--json"],
  ["pt", "--latency", "fib", "--json"],
  ["pt", "--branches", "--function", "fib", "--json"],
  ["pt", "--insns", "--function", "fib", "--json"],
  ["pt", "--packets", "--json"],
];

Deno.test(
  "names of what a trace executed are marked where nothing verifies them, and their share is said",
  ignored(cannotStep()),
  async () => {
    const variant: EncodeOptions = {
      psbEvery: 5000,
      compressReturns: false,
      tsc: true,
      mtc: true,
      cyc: true,
    };
    let compared = 0;
    await inFolder(async (cwd) => {
      const program = stepProgram(cwd, { program: "calls", flags: ["-O1", "-static"] });
      const encoded = encodeProgram(program, variant);
      for (const buildIds of [false, true]) {
        const file = await steppedFile(program, encoded, variant, { buildIds });
        Deno.writeFileSync(`${cwd}/perf.data`, file);
        const textOf = async ([command = "", ...args]: readonly string[]) => {
          const { code, out, err } = await tool(command, [...args, "perf.data"], { cwd });
          assertEquals(code, 0, `${command} ${args}: ${err}`);
          const [, share = "0"] = /\((\d+\.\d\d)%\) are not verified, and marked "\?"/.exec(err) ??
            [];
          assertEquals(Number(share) > 50, !buildIds, `${command} ${args}: ${err}`);
          const to = args.at(-1) ?? "";
          return to.endsWith(".gz")
            ? await unpacked(`${cwd}/${to}`)
            : to.endsWith(".svg")
            ? Deno.readTextFileSync(`${cwd}/${to}`)
            : out;
        };
        for (const args of PT_TEXTS) {
          const text = await textOf(args);
          const named = [...text.matchAll(/(?<!\w)fib(?![a-z_])\??/g)].map(([name]) => name);
          assert(named.length > 0, `${args}: ${text.slice(0, 2000)}`);
          // pprof has the name without its mark beside it.
          const wrong = named.filter((name) => name !== (buildIds ? "fib" : "fib?"));
          assert(wrong.length === 0 || (args.includes("pprof") && wrong.length < named.length));
          assert(buildIds || named.includes("fib?"), `${args}: ${text.slice(0, 2000)}`);
          compared++;
        }
        for (const args of PT_ROWS) {
          const rows = (await textOf(args)).split("\n").filter((line) => /"fib["+]/.test(line));
          assert(rows.length > 0, `${args}`);
          for (const row of rows) {
            assertEquals(row.includes('"verified":false'), !buildIds, `${args}: ${row}`);
          }
          compared++;
        }
      }
    });
    console.log(`marks of traces: ${compared} outputs`);
    assert(compared >= 42);
  },
);
