/** Names from unverified files have a mark in tables for people, and in no other output. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FORMATS } from "@perfdata/export/tree";
import { emptyAttr } from "@perfdata/format/records";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { type EncodeOptions } from "../../fixtures/stepped/encode.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { ignored } from "../support/ignored.ts";
import { inFolder, tool } from "../support/tool.ts";

const DEMO = new URL("../../fixtures/demo/demo", import.meta.url).pathname;
/** As `readelf -n` and `readelf -s` print them for the demo. */
const BUILD_ID = "8b035e73d518af16372e3cd572f60f18f787551b";
const FIB = 0x4011f8n, WORK = 0x401290n;
/** PERF_CONTEXT_USER */
const USER = -512n;

/**
 * Two threads of a program, whose mapping may have a build id; each sample is in `fib`, called by
 * `work`.
 */
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

/** Tables for people. */
const TABLES: readonly (readonly string[])[] = [
  ["funcs"],
  ["funcs", "--children", "-g", "caller"],
  ["tree"],
  ["tree", "--callers"],
  ["annotate", "fib"],
  ["annotate", "fib", "--insns"],
];
/** Output for programs, and pictures; every format of `export` is similar to one of these. */
const OTHERS: readonly (readonly string[])[] = [
  ["script"],
  ["script", "-F", "ip,sym,symoff"],
  ["funcs", "--csv"],
  ["funcs", "--json"],
  ["funcs", "--json", "--children", "-g", "caller"],
  ["tree", "--json"],
  ["annotate", "fib", "--json"],
  ["records", "--type", "SAMPLE", "--symbols"],
  ["flame", "-f", "-o", "flame.svg"],
  ...Object.keys(FORMATS).map((format) => ["export", format, "-f", "-o", "exported"]),
];
/** JSON rows that tell whether a name is verified. */
const ROWS: readonly (readonly string[])[] = [
  ["funcs", "--json"],
  ["tree", "--json"],
  ["annotate", "fib", "--json"],
  ["records", "--type", "SAMPLE", "--symbols"],
];

/** Text of an output: printed, or written with `-o`. */
async function textOf(
  [command = "", ...args]: readonly string[],
  out: string,
  cwd: string,
): Promise<string> {
  const at = args.indexOf("-o");
  const file = at < 0 ? "-" : args[at + 1] ?? "-";
  if (file === "-") return out;
  const bytes = Deno.readFileSync(`${cwd}/${file}`);
  const text = bytes[0] === 0x1f && bytes[1] === 0x8b
    ? await unpacked(`${cwd}/${file}`)
    : new TextDecoder().decode(bytes);
  assert(text.length > 0, command);
  return text;
}

Deno.test("unverified names: marked in tables, unmarked in all other outputs, their share on stderr", async () => {
  let compared = 0;
  await inFolder(async (cwd) => {
    const program = `${cwd}/program`;
    Deno.copyFileSync(DEMO, program);
    for (const buildId of [undefined, BUILD_ID]) {
      const isVerified = buildId !== undefined;
      Deno.writeFileSync(`${cwd}/perf.data`, await recording(program, buildId));
      const run = async (args: readonly string[]) => {
        const [command = "", ...more] = args;
        const words = command === "annotate" ? more : [...more, "perf.data"];
        const { code, out, err } = await tool(command, words, { cwd });
        assertEquals(code, 0, `${args}: ${err}`);
        const about = command === "records"
          ? /2 of 2 addresses have a function of a file that nothing verifies/
          : /100(\.00)?% (of samples\) are not verified|by files that nothing verifies)/;
        assertEquals(about.test(err), !isVerified, `${args}: ${err}`);
        return await textOf(args, out, cwd);
      };
      for (const args of TABLES) {
        const text = await run(args);
        assertStringIncludes(text, isVerified ? "fib" : "fib?", `${args}`);
        assertEquals(text.includes("fib?"), !isVerified, `${args}: ${text.slice(0, 2000)}`);
        compared++;
      }
      for (const args of OTHERS) {
        const text = await run(args);
        assertStringIncludes(text, "fib", `${args}`);
        assert(!text.includes("fib?") && !text.includes("work?"), `${args}: ${text}`);
        compared++;
      }
      for (const args of ROWS) {
        const [row = ""] = (await run(args)).split("\n").filter((line) => line.includes('"fib"'));
        assertEquals(row.includes('"verified":false'), !isVerified, `${args}: ${row}`);
        compared++;
      }
    }
  });
  console.log(`marks: ${compared} outputs`);
  assert(compared >= 2 * (TABLES.length + OTHERS.length + ROWS.length));
});

Deno.test("a perf map of the recorded process: its names are neither marked nor reported as unverified", async () => {
  await inFolder(async (cwd) => {
    Deno.mkdirSync(`${cwd}/tmp`);
    const map = `${FIB.toString(16)} 50 fib\n${WORK.toString(16)} 50 work\n`;
    Deno.writeTextFileSync(`${cwd}/tmp/perf-7.map`, map);
    Deno.writeFileSync(`${cwd}/perf.data`, await recording("//anon", undefined));
    for (const [command = "", ...args] of [["funcs"], ["tree"], ["script"], ["funcs", "--json"]]) {
      const words = [...args, "--symfs", cwd, "perf.data"];
      const { code, out, err } = await tool(command, words, { cwd });
      assertEquals(code, 0, err);
      assertStringIncludes(out, "fib");
      assert(!/fib\?|work\?|"verified":false/.test(out), `${command} ${args}: ${out}`);
      assert(!/verifi/.test(err), `${command} ${args}: ${err}`);
    }
  });
});

/** Lists of executed code for people. */
const PT_TABLES: readonly (readonly string[])[] = [
  ["pt"],
  ["pt", "--calls"],
  ["pt", "--latency", "fib"],
  ["pt", "--branches", "--function", "fib"],
  ["pt", "--insns", "--function", "fib"],
  ["pt", "--packets"],
];
/** Output about executed code for programs, and pictures. */
const PT_OTHERS: readonly (readonly string[])[] = [
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
  "unverified names of a trace: marked in lists, unmarked in all other outputs, their share on stderr",
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
        const run = async (args: readonly string[]) => {
          const [command = "", ...more] = args;
          const { code, out, err } = await tool(command, [...more, "perf.data"], { cwd });
          assertEquals(code, 0, `${args}: ${err}`);
          const [, share = "0"] = /\((\d+\.\d\d)%\) are not verified/.exec(err) ?? [];
          assertEquals(Number(share) > 50, !buildIds, `${args}: ${err}`);
          return await textOf(args, out, cwd);
        };
        for (const [list, mark] of [[PT_TABLES, "?"], [PT_OTHERS, ""]] as const) {
          for (const args of list) {
            const text = await run(args);
            const named = [...text.matchAll(/(?<!\w)fib(?![a-z_])\??/g)].map(([name]) => name);
            const expected = buildIds ? "fib" : `fib${mark}`;
            assert(named.length > 0, `${args}: ${text.slice(0, 2000)}`);
            assertEquals(named.filter((name) => name !== expected), [], `${args}`);
            compared++;
          }
        }
        for (const args of PT_ROWS) {
          const rows = (await run(args)).split("\n").filter((line) => /"fib["+]/.test(line));
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
