/** `convert --jit` compared with `perf inject --jit`, on code that node compiled. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import { HEADER_ARCH } from "@perfdata/format/constants";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { noPerf } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";
import { ignored, skipped } from "../support/ignored.ts";

const PROGRAM = `function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function spin(k) { let s = 0; for (let i = 0; i < k; i++) s += Math.sqrt(i) * i % 7; return s; }
let t = 0;
for (let i = 0; i < 36; i++) t += fib(22) + spin(300000);
console.log(t);
`;

Deno.test(
  "convert --jit: perf finds the same symbols as after perf inject --jit, and so do funcs and annotate",
  ignored(noPerf()),
  async (t) => {
    const folder = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "perfdata-jit-" }));
    try {
      const env = { PERF_BUILDID_DIR: `${folder}/cache`, LC_ALL: "C", PAGER: "cat" };
      const perf = async (...args: string[]) => {
        const { success, stdout } = await new Deno.Command("timeout", {
          args: ["300", "perf", ...args],
          cwd: folder,
          env,
          stdin: "null",
        }).output();
        return { success, text: new TextDecoder().decode(stdout) };
      };
      Deno.writeTextFileSync(`${folder}/program.js`, PROGRAM);
      const { success } = await perf(
        ...["record", "-q", "-B", "-k", "mono", "-e", "cpu-clock:u", "-F", "2000", "-g"],
        ...["-o", "perf.data", "--", "node", "--perf-prof", "--perf-prof-unwinding-info"],
        "program.js",
      );
      const dump = Array.from(Deno.readDirSync(folder), ({ name }) => name)
        .find((name) => name.endsWith(".dump"));
      if (!success || dump === undefined) {
        return await skipped(t, "perf cannot record node --perf-prof here");
      }
      const jitted = () =>
        Array.from(Deno.readDirSync(folder), ({ name }) => name)
          .filter((name) => name.startsWith("jitted-")).sort();
      const script = async (name: string) =>
        (await perf("script", "-i", name, "-F", "comm,tid,time,event,ip,sym,dso")).text;

      await perf("inject", "--jit", "-i", "perf.data", "-o", "injected.data");
      const theirs = jitted();
      const wanted = await script("injected.data");
      for (const name of theirs) Deno.removeSync(`${folder}/${name}`);

      const { code, err } = await tool("convert", ["--jit", "perf.data", "-o", "ours.data"], {
        cwd: folder,
        env: { PERFDATA_CWD: folder },
      });
      assertEquals([code, err.trim().split("\n").length], [0, 1], err);
      assertStringIncludes(err, `${theirs.length} ELF files of ${folder}/${dump}`);
      assertEquals(jitted(), theirs);
      const found = await script("ours.data");
      assertEquals(found.split("\n"), wanted.split("\n"));
      const compiled = found.split("\n").filter((line) => line.includes("JS:*spin"));
      assert(compiled.length > 20, `${compiled.length} frames`);

      const options = { cwd: folder, env: { ...env, PERFDATA_CWD: folder } };
      const funcs = await tool("funcs", ["--json", "--sort", "dso,sym", "ours.data"], options);
      const rows = funcs.out.trim().split("\n").map((line) => JSON.parse(line));
      const samples = (text: string) =>
        text.split("\n\n").filter((block) => /^[^\n]*\n\s+[0-9a-f]+ JS:/.test(block)).length;
      const inJs = rows.flatMap(({ sym, samples }) => sym?.startsWith("JS:") ? [samples] : []);
      assertEquals(inJs.reduce((sum, n) => sum + n, 0), samples(found));
      const annotated = await tool("annotate", ["--lines", "ours.data", "/spin/"], options);
      // node 20 overwrites some file names in its jitdump with other strings.
      assertMatch(annotated.out, /:2:/);

      // Instructions: read from the jitdump; perf reads them from its ELF files.
      const insns = await tool("annotate", ["--insns", "--json", "perf.data", "/spin/"], options);
      const ours = new Map<string, [number, number][]>();
      let start = 0n;
      let end = -1n;
      for (const line of insns.out.trim().split("\n")) {
        const { function: name, address, bytes, samples } = JSON.parse(line);
        if (BigInt(address) !== end) start = BigInt(address);
        end = BigInt(address) + BigInt(bytes.length / 2);
        if (samples === 0) continue;
        const hits = ours.get(`${name} ${start}`) ?? [];
        ours.set(`${name} ${start}`, [...hits, [Number(BigInt(address) - start), samples]]);
      }
      const names = new Set(Array.from(ours.keys(), (key) => key.replace(/ \d+$/, "")));
      const perfs: [number, number][][] = [];
      for (const name of names) {
        const args = [
          "annotate",
          "--stdio",
          "--show-nr-samples",
          "-i",
          "injected.data",
          "-s",
          name,
        ];
        for (const block of (await perf(...args)).text.split(/^ *Samples +\|/m).slice(1)) {
          const rows = [...block.matchAll(/^ *(\d*) : +([0-9a-f]+): /gm)]
            .map(([, count, at]): [number, number] => [parseInt(at ?? "", 16), Number(count)]);
          const first = rows[0]?.[0] ?? 0;
          const hits = rows.filter(([, count]) => count > 0);
          perfs.push(hits.map(([at, count]): [number, number] => [at - first, count]));
        }
      }
      const sorted = (pieces: Iterable<[number, number][]>) =>
        Array.from(pieces, (piece) => JSON.stringify(piece)).sort();
      assertEquals(sorted(ours.values()), sorted(perfs.filter((piece) => piece.length > 0)));
      const sampled = perfs.reduce((sum, piece) => sum + piece.length, 0);
      assert(sampled > 3, `${sampled} instructions`);
      console.log(
        `${sampled} sampled instructions, ${theirs.length} files, ${
          found.split("\n").length
        } lines of perf script compared`,
      );
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);

Deno.test("convert --jit: nothing is written if the output is not writable; code without a machine is read", () =>
  inFolder(async (folder) => {
    // A jitdump file as CPython 3.13.0 writes it: elf_mach is 0. Eight bytes of code at 0x1000.
    const dump = `${folder}/jit-42.dump`;
    const words = [0x0000_0001_4a69_5444n, 40n, 42n << 32n, 1n, 0n];
    words.push(72n << 32n, 5n, 42n << 32n | 42n, 0x1000n, 0x1000n, 8n, 1n);
    words.push(0x61_6161_6161_6161n, 0xc390_9090_9090_9090n);
    await Deno.writeFile(dump, new Uint8Array(BigUint64Array.from(words).buffer));
    const map = { pid: 42, tid: 42, addr: 0x7000n, len: 0x1000n, pgoff: 0n, filename: dump };
    const items = [
      { type: 3, name: "COMM", misc: 0, body: { pid: 42, tid: 42, comm: "python" } },
      { type: 1, name: "MMAP", misc: 2, body: map },
      {
        type: 9,
        name: "SAMPLE",
        misc: 2,
        body: { ip: 0x1004n, pid: 42, tid: 42, time: 10n, period: 1n },
      },
    ].map((record) => ({ record }) as Item);
    const attr = emptyAttr();
    // IP, TID, TIME; CLOCK_MONOTONIC
    const flags = { ...attr.flags, use_clockid: true };
    const event = { ...attr, size: 120, sample_type: 7n, sample_period: 1n, clockid: 1, flags };
    const features = [{ id: HEADER_ARCH, name: "ARCH" as const, value: "x86_64" }];
    await Deno.writeFile(
      `${folder}/perf.data`,
      await asFile({ events: [{ attr: event, ids: [1n] }], items, features }, true),
    );
    const jitted = () => [...Deno.readDirSync(folder)].filter(({ name }) => /^jitted/.test(name));
    const options = { cwd: folder, env: { PERFDATA_CWD: folder } };
    const convert = () => tool("convert", ["--jit", "perf.data", "-o", "out.data"], options);

    Deno.writeTextFileSync(`${folder}/out.data`, "mine");
    const refused = await convert();
    assertEquals([refused.code, jitted()], [1, []], refused.err);
    assertStringIncludes(refused.err, "out.data");
    assertEquals(Deno.readTextFileSync(`${folder}/out.data`), "mine");

    Deno.removeSync(`${folder}/out.data`);
    const done = await convert();
    assertEquals([done.code, jitted().length], [0, 1], done.err);
    // The written file can be opened.
    const { out } = await tool("funcs", ["--json", "out.data"], options);
    const row = JSON.parse(out.trim().split("\n")[0] ?? "");
    assertEquals([row.sym, row.samples], ["aaaaaaa", 1]);
  }));
