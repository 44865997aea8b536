/** `lock` compared with `perf lock contention`, and on a recording with known waits. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { noPerf, perfText } from "../support/perf.ts";
import { OF_LOCKS } from "@perfdata/report/contention";
import { ignored, skipped } from "../support/ignored.ts";
import { inFolder, tool } from "../support/tool.ts";
import { schedulerRecording } from "../../packages/session/intervals/testing.ts";

/** Programs that contend for kernel locks: writes to one directory, pages, the scheduler. */
const WORK =
  "mkdir -p all; for i in 1 2 3 4 5 6 7 8; do (n=0; while [ $n -lt 500 ]; do : >all/$i-$n; " +
  "n=$((n+1)); done; ls all | cat >/dev/null; rm -f all/$i-*) & done; wait";

/** Times that doubles cannot represent. */
const T0 = 2n ** 60n + 7n;
const [LOCK_A, LOCK_B, SPINS, MUTEX_SPINS] = [0xffff888000000008n, 0xffff888100000008n, 1, 33];

/** Records locks on all CPUs. Returns `false` without permission. */
function record(path: string, ends = true): boolean {
  try {
    return new Deno.Command("perf", {
      args: ["record", "-q", "-a", "-g", "-m", "2048", "-o", path]
        .concat("-e", ["begin", ...ends ? ["end"] : []].map((of) => `lock:contention_${of}`).join())
        .concat("--", "sh", "-c", WORK),
      cwd: path.slice(0, path.lastIndexOf("/")),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).outputSync().success;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}

function cannotRecord(): string | undefined {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-lock-" });
  try {
    return record(`${folder}/data`) ? undefined : "perf cannot record lock:contention_begin here";
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** A time with its unit in ns, and its tolerance. */
function nsOf(number: string, unit: string): readonly [number, number] {
  const size = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9 }[unit] ?? NaN;
  return [Number(number) * size, size === 1 ? 1 : 0.0051 * size];
}

interface Wait {
  contended: number;
  total: number;
  max: number;
  /** Relative precision of printed times. */
  off: number;
}

/** Rows of perf's table, grouped by key. */
function rowsOf(text: string, of: "caller" | "thread"): Map<string, Wait> {
  const rows = new Map<string, Wait>();
  const row = /^ +(\d+) +([\d.]+) (\w+) +([\d.]+) (\w+) +([\d.]+) (\w+) +(\S+) +(.*)$/gm;
  for (const found of text.matchAll(row)) {
    const [, contended, total = "", unit = "", max = "", size = "", , , a = "", b] = found;
    // perf uses a thread's final name, we that of its last wait.
    const key = of === "thread" ? a : `${a} ${b}`;
    const known = rows.get(key) ?? { contended: 0, total: 0, max: 0, off: 0 };
    const [sum, off] = nsOf(total, unit);
    const [most, offMost] = nsOf(max, size);
    rows.set(key, {
      contended: known.contended + Number(contended),
      total: known.total + sum,
      max: Math.max(known.max, most),
      off: known.off + Math.max(off, offMost),
    });
  }
  return rows;
}

Deno.test({
  name: "lock: waits equal those of perf lock contention, by caller and by thread",
  ...ignored(noPerf() ?? cannotRecord()),
  async fn(t) {
    await inFolder(async (folder) => {
      const file = `${folder}/data`;
      assert(record(file));
      const ours = async (...flags: string[]) => {
        const { out, code } = await tool("lock", ["--json", ...flags, file]);
        assertEquals(code, 0);
        return out.trim().split("\n").map((line) => JSON.parse(line));
      };
      let [compared, waits] = [0, 0];
      const compare = (
        perf: Map<string, Wait>,
        rows: readonly {
          contended: number;
          ended: number;
          total: number;
          max: number;
          key: string;
        }[],
      ) => {
        const shown = rows.filter(({ ended }) => ended > 0);
        // perf drops waits that did not end.
        assertEquals(shown.map(({ key }) => key).sort(), [...perf.keys()].sort());
        for (const { key, contended, total, max } of shown) {
          const of = perf.get(key) as Wait;
          assertEquals(contended, of.contended, key);
          assert(Math.abs(total - of.total) <= of.off, `${key}: ${total}, perf ${of.total}`);
          assert(Math.abs(max - of.max) <= of.off, `${key}: at most ${max}, perf ${of.max}`);
          compared++;
          waits += contended;
        }
      };
      const threads = await perfText(["lock", "contention", "-t"], file);
      compare(
        rowsOf(`${threads?.stdout}${threads?.stderr}`, "thread"),
        (await ours("--threads")).map((row) => ({ ...row, key: `${row.tid}` })),
      );
      const callers = await perfText(["lock", "contention"], file);
      compare(
        rowsOf(`${callers?.stdout}${callers?.stderr}`, "caller"),
        (await ours()).map((row) => ({ ...row, key: `${row.type} ${row.caller}` })),
      );
      const folded = await tool("lock", ["--folded", file]);
      const sum = folded.out.trim().split("\n")
        .reduce((all, line) => all + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
      const total = (await ours()).reduce((all, row) => all + row.total, 0) / 1000;
      const lines = folded.out.split("\n").length;
      assert(Math.abs(sum - total) <= lines, `folded ${sum} us, rows ${total} us`);
      console.log(`lock: ${compared} rows, ${waits} waits are those of perf`);
      assert(compared > 0, "no row");
      // With one processor, there are hardly any waits.
      if (compared < 10 || waits < 40) await skipped(t, "too few programs waited for locks here");
    });
  },
});

Deno.test({
  name: "lock: missing parts of a recording are reported",
  ...ignored(noPerf() ?? cannotRecord()),
  async fn(t) {
    await inFolder(async (folder) => {
      assert(record(`${folder}/begins`, false));
      const begins = await tool("lock", [`${folder}/begins`]);
      assertEquals(begins.code, 0);
      if (begins.err.includes("nobody waited")) return await skipped(t, "nobody waited here");
      assertStringIncludes(begins.err, "no lock:contention_end: how long is not known");
    });
  },
});

Deno.test("lock: without its events, the command to record them is suggested", async () => {
  const none = await tool("lock", ["fixtures/recorded/callchain.perf.data"]);
  assertEquals([none.code, none.out], [1, ""]);
  assertStringIncludes(none.err, "perf lock record");
  const cut = await schedulerRecording(
    [{ time: 5n, tid: 7, waits: [LOCK_A, SPINS] }, { time: 6n, tid: 7, got: LOCK_A }],
    { events: ["begin", "end"] },
  );
  // Features are at the end.
  const undescribed = await tool("lock", ["-"], { input: cut.subarray(0, cut.length - 500) });
  assertEquals(undescribed.code, 1);
  assertStringIncludes(
    undescribed.err,
    "the formats of its tracepoints (TRACING_DATA) are missing",
  );
  const both = await tool("lock", ["--folded", "--json", "fixtures/recorded/callchain.perf.data"]);
  assertEquals(both.code, 2);
});

Deno.test("lock: functions of locks are those in the running kernel's sections", async (t) => {
  let text = "";
  try {
    text = Deno.readTextFileSync("/proc/kallsyms");
  } catch {
    // Below.
  }
  const symbols = text.split("\n").map((line) => line.split(/\s+/))
    .filter(([, type = "", name, module]) => /^[tTwW]$/.test(type) && name && module === undefined)
    .map(([address, , name = ""]) => ({ address: BigInt(`0x${address}`), name }));
  const at = new Map(symbols.map(({ name, address }) => [name, address]));
  const sections = ["sched", "lock"].map((of) =>
    [at.get(`__${of}_text_start`) ?? 0n, at.get(`__${of}_text_end`) ?? 0n] as const
  );
  if (sections.some(([start, end]) => start >= end)) {
    return await skipped(t, "/proc/kallsyms does not say where locks are");
  }
  const [inside, outside] = [[] as string[], [] as string[]];
  for (const { address, name } of symbols) {
    if (/^__pfx_|_text_(?:start|end)$/.test(name)) continue;
    const isOf = sections.some(([start, end]) => address >= start && address < end);
    if (isOf !== OF_LOCKS.test(name)) (isOf ? inside : outside).push(name);
  }
  console.log(`lock: ${symbols.length} functions; not known ${inside.length}: ${inside.join(" ")}`);
  // A later kernel may have more of them. No other function counts as one.
  assertEquals(outside, []);
  assert(inside.length <= 8 && symbols.length > 10_000, inside.join(" "));
});

Deno.test("lock: waits of alternating threads are those that were laid out", async () => {
  const at = (ns: number, tid: number) => ({ time: T0 + BigInt(ns), tid });
  const recording = await schedulerRecording([
    { ...at(0, 71), task: "one" },
    { ...at(1, 72), task: "two" },
    // A wait that began before the recording.
    { ...at(5, 72), got: LOCK_B },
    { ...at(10, 71), waits: [LOCK_A, SPINS], chain: [0x1000n] },
    // Another lock, whose address differs only in its upper half, by two threads at once.
    { ...at(20, 72), waits: [LOCK_B, 2], chain: [0x2000n] },
    { ...at(25, 71), waits: [LOCK_B, MUTEX_SPINS], chain: [0x1000n] },
    // A mutex that spins first: one wait.
    { ...at(30, 71), waits: [LOCK_B, 32], chain: [0x3000n] },
    { ...at(40, 71), got: LOCK_A },
    { ...at(60, 72), got: LOCK_B },
    { ...at(1_000_000_125, 71), got: LOCK_B },
    // A wait that does not end.
    { ...at(1_000_000_200, 72), waits: [LOCK_A, SPINS], chain: [0x1000n] },
    { ...at(1_000_000_300, 72), lost: 3n },
  ], { events: ["begin", "end"] });
  await inFolder(async (folder) => {
    const file = `${folder}/data`;
    Deno.writeFileSync(file, recording);
    const read = async (...flags: string[]) => {
      const { out, err, code } = await tool("lock", ["--json", ...flags, file]);
      assertEquals(code, 0, err);
      return { rows: out.trim().split("\n").map((line) => JSON.parse(line)), err };
    };
    const { rows, err } = await read("--threads");
    assertEquals(rows, [
      {
        tid: 71,
        comm: "one",
        contended: 2,
        ended: 2,
        total: 1_000_000_130,
        max: 1_000_000_100,
        min: 30,
      },
      { tid: 72, comm: "two", contended: 2, ended: 1, total: 40, max: 40, min: 40 },
    ]);
    assertStringIncludes(err, "1 of 4 waits had not ended");
    assertStringIncludes(err, "1 waits began before the recording");
    assertStringIncludes(err, "3 records were lost");
    const callers = await read();
    assertEquals(
      callers.rows.map(({ type, contended, total }) => [type, contended, total]),
      [["mutex", 1, 1_000_000_100], ["rwsem:R", 1, 40], ["spinlock", 2, 30]],
    );
    // Filtered by thread, by time, and from a pipe.
    assertEquals((await read("--tid", "72", "--threads")).rows.length, 1);
    const piped = await tool("lock", ["--json", "--threads", "-"], { input: recording });
    assertEquals(piped.out.trim().split("\n").map((line) => JSON.parse(line)), rows);
    const none = await tool("lock", ["--tid", "5", file]);
    assertEquals([none.code, none.out], [1, ""]);
  });
});

Deno.test("lock: a wait whose records come after later ones counts", async () => {
  const at = (ns: number, tid: number) => ({ time: T0 + BigInt(ns), tid });
  const recording = await schedulerRecording([
    { ...at(1000, 72), waits: [LOCK_A, SPINS] },
    { ...at(1010, 72), got: LOCK_A, endsRound: true },
    { ...at(2000, 72), waits: [LOCK_A, SPINS] },
    // What precedes this round is delivered now.
    { ...at(2010, 72), got: LOCK_A, endsRound: true },
    { ...at(500, 71), waits: [LOCK_B, SPINS] },
    { ...at(600, 71), got: LOCK_B, endsRound: true },
  ], { events: ["begin", "end"] });
  const { out } = await tool("lock", ["--json", "--threads", "-"], { input: recording });
  const rows = out.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(
    rows.map(({ tid, contended, ended, total }) => [tid, contended, ended, total]),
    [[71, 1, 1, 100], [72, 2, 2, 20]],
  );
});
