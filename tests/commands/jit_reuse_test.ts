/** JIT-compiled code at reused addresses: names depend on the time in every command. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import { HEADER_ARCH } from "@perfdata/format/constants";
import { asFile, asPipe, type Item, type Recording } from "../../fixtures/synthesize/recording.ts";
import { JitdumpWriter } from "../support/jitdump.ts";
import { inFolder, tool } from "../support/tool.ts";

const CODE = new Uint8Array(16).fill(0x90);
const [A, B, MOVED] = [0x10000n, 0x20000n, 0x30000n];

/**
 * Two processes with the same addresses, and jitdump files in `folder`:
 *
 * | time | 42 at A | 42 at B | 42 at MOVED | 43 at A |
 * | --- | --- | --- | --- | --- |
 * | 10 | first | | | |
 * | 20 | | caller | | other |
 * | 40 | second | | | |
 * | 60 | third | | | |
 * | 80 | | | third | |
 */
async function recording(folder: string, clockid: number): Promise<Recording> {
  const dump = new JitdumpWriter(42);
  dump.load(10n, A, "first", CODE);
  dump.load(20n, B, "caller", CODE);
  dump.load(40n, A, "second", CODE);
  const third = dump.load(60n, A, "third", CODE);
  dump.move(80n, third, A, MOVED, 16n);
  await Deno.writeFile(`${folder}/jit-42.dump`, dump.bytes);
  const other = new JitdumpWriter(43);
  other.load(20n, A, "other", CODE);
  await Deno.writeFile(`${folder}/jit-43.dump`, other.bytes);
  const of = (pid: number): Item[] => {
    const sample_id = { pid, tid: pid, time: 1n };
    const anon = { pid, tid: pid, addr: A, len: 0x100000n, pgoff: A, filename: "//anon" };
    const filename = `${folder}/jit-${pid}.dump`;
    return [
      { type: 3, name: "COMM", misc: 0, body: { pid, tid: pid, comm: "vm" }, sample_id },
      { type: 1, name: "MMAP", misc: 2, body: anon, sample_id },
      {
        type: 1,
        name: "MMAP",
        misc: 2,
        body: { ...anon, addr: 0x700000n, len: 0x1000n, pgoff: 0n, filename },
        sample_id,
      },
    ].map((record) => ({ record }) as Item);
  };
  const sample = (pid: number, tid: number, time: bigint, ip: bigint, caller?: bigint): Item => ({
    record: {
      type: 9,
      name: "SAMPLE",
      misc: 2,
      body: {
        ip,
        pid,
        tid,
        time,
        period: 1n,
        callchain: caller === undefined
          ? [0xfffffffffffffe00n, ip]
          : [0xfffffffffffffe00n, ip, caller],
      },
    } as Item["record"],
  });
  const times = [5n, 15n, 30n, 39n, 40n, 50n, 70n, 75n, 90n];
  const samples = times.map((time) =>
    sample(42, 42, time, A + 4n, time > 20n ? B + 8n : undefined)
  );
  samples.push(
    // A caller at a reused address, and another thread of the process.
    ...[sample(42, 44, 31n, B + 4n, A + 8n), sample(42, 44, 51n, B + 4n, A + 8n)],
    ...[sample(42, 42, 79n, MOVED + 4n), sample(42, 42, 85n, MOVED + 4n)],
    ...[sample(43, 43, 45n, A + 4n), sample(43, 43, 65n, A + 4n)],
  );
  samples.sort((a, b) => Number(timeOf(a) - timeOf(b)));
  const attr = emptyAttr();
  return {
    events: [{
      attr: {
        ...attr,
        size: 120,
        // IP, TID, TIME, CALLCHAIN
        sample_type: 0x27n,
        sample_period: 1n,
        clockid,
        flags: { ...attr.flags, use_clockid: true, sample_id_all: true },
      },
      ids: [1n],
    }],
    items: [...of(42), ...of(43), ...samples],
    features: [{ id: HEADER_ARCH, name: "ARCH" as const, value: "x86_64" }],
  };
}

function timeOf({ record }: Item): bigint {
  return record.name === "SAMPLE" ? record.body.time ?? 0n : 0n;
}

/** Samples by function, from the table above. */
const EXPECTED = {
  "?42": 2,
  first: 3,
  second: 2,
  third: 4,
  caller: 2,
  other: 2,
};

const NAMES = ["first", "second", "third", "caller", "other"];

function counted(names: Iterable<string | undefined>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) {
    const known = NAMES.find((known) => name?.startsWith(known)) ?? "?42";
    counts[known] = (counts[known] ?? 0) + 1;
  }
  return counts;
}

Deno.test("code at a reused address: funcs, folded, script and annotate name it by time, from a file and a pipe", () =>
  inFolder(async (folder) => {
    const made = await recording(folder, 1);
    const file = `${folder}/perf.data`, pipe = `${folder}/pipe.data`;
    await Deno.writeFile(file, await asFile(made, true));
    await Deno.writeFile(pipe, await asPipe(made, true));
    for (const path of [file, pipe]) {
      const { out } = await tool("funcs", ["--json", path]);
      const rows = out.trim().split("\n").map((line) => JSON.parse(line));
      const byName: Record<string, number> = {};
      for (const { sym, samples } of rows) {
        const name = NAMES.find((name) => sym?.startsWith(name)) ?? "?42";
        byName[name] = (byName[name] ?? 0) + samples;
      }
      assertEquals(byName, EXPECTED, path);
      for (const jobs of path === file ? ["1", "2"] : ["1"]) {
        const script = await tool("script", ["--jobs", jobs, "-F", "ip,sym", path]);
        const leaves = script.out.split("\n\n").filter((block) => block.trim() !== "")
          .map((block) => block.trim().split("\n")[0]?.trim().split(/\s+/)[1]);
        assertEquals(counted(leaves), EXPECTED, `${path} ${jobs}`);
      }
      const folded = await tool("export", ["folded", path]);
      const stacks = folded.out.trim().split("\n").map((line) => line.replaceAll("?", "")).sort();
      assertEquals(stacks.filter((line) => line.includes("caller")), [
        ":44;first;caller 1",
        ":44;second;caller 1",
        "vm;caller;first 2",
        "vm;caller;second 2",
        "vm;caller;third 3",
      ], folded.out);
      const annotated = await tool("annotate", ["--insns", path, "second"]);
      assertStringIncludes(annotated.out, ": 3 samples", annotated.err);
    }
  }));

Deno.test("code at a reused address: a forked child keeps the code that its parent had at the fork", () =>
  inFolder(async (folder) => {
    const made = await recording(folder, 1);
    const fork = (pid: number, ppid: number, time: bigint): Item => ({
      record: {
        type: 7,
        name: "FORK",
        misc: 0,
        body: { pid, ppid, tid: pid, ptid: ppid, time },
        sample_id: { pid: ppid, tid: ppid, time },
      } as Item["record"],
    });
    const sample = (pid: number, time: bigint): Item => ({
      record: {
        type: 9,
        name: "SAMPLE",
        misc: 2,
        body: {
          ip: A + 4n,
          pid,
          tid: pid,
          time,
          period: 1n,
          callchain: [0xfffffffffffffe00n, A + 4n],
        },
      } as Item["record"],
    });
    // At A in process 42: first from 10 on, second from 40 on, third from 60 on. 50 forks 51.
    const more = [fork(50, 42, 35n), sample(50, 45n), sample(50, 65n), fork(51, 50, 66n)];
    const last = [sample(51, 71n), fork(52, 42, 81n), sample(52, 95n)];
    const path = `${folder}/perf.data`;
    await Deno.writeFile(
      path,
      await asFile({ ...made, items: [...made.items, ...more, ...last] }, true),
    );
    const { out } = await tool("script", ["-G", "-F", "pid,ip,sym", path]);
    const seen = out.trim().split("\n").map((line) => line.trim().split(/\s+/))
      .filter(([pid = ""]) => Number(pid) >= 50)
      .map(([pid = "", , name = ""]) => [Number(pid), name.replace(/\W.*/, "")]);
    assertEquals(seen, [[50, "first"], [50, "first"], [51, "first"], [52, "third"]], out);
  }));

Deno.test("code at a reused address: with another clock the newest code is used, a line has the share and the remedy", () =>
  inFolder(async (folder) => {
    const path = `${folder}/perf.data`;
    // CLOCK_REALTIME
    await Deno.writeFile(path, await asFile(await recording(folder, 0), true));
    const { out } = await tool("funcs", ["--json", path]);
    const names = out.trim().split("\n").map((line) => JSON.parse(line).sym);
    assertEquals(names.some((name) => name.startsWith("first")), false, out);
    // Of 15 samples, 9 are at A in process 42, the only reused address of a sample.
    for (const [command, ...args] of [["funcs"], ["script"], ["tree"], ["export", "folded"]]) {
      const { err } = await tool(command as string, [...args, path]);
      const [line, ...more] = err.split("\n").filter((line) => line.includes("newest JIT code"));
      assertEquals(more, [], err);
      assertMatch(line ?? "", /: 60\.00% of samples .*; record with perf record -k mono$/, err);
      assert((line ?? "").length <= 120, `${line?.length}: ${line}`);
    }
    const { err } = await tool("records", ["--symbols", path]);
    assertStringIncludes(err, "have the name of the newest JIT code there; record with");
    await Deno.writeFile(path, await asFile(await recording(folder, 1), true));
    const timed = await tool("funcs", [path]);
    assert(!timed.err.includes("newest JIT code"), timed.err);
  }));
