import { assert, assertEquals } from "@std/assert";
import { PERF_RECORD_HEADER_BUILD_ID } from "@perfdata/format/constants";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { runEngine } from "@perfdata/session";
import { corpusFiles } from "../support/corpus.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { denoFolder, inFolder, tool } from "../support/tool.ts";
import {
  byAddress,
  type Flavour,
  FLAVOURS,
  framesIn,
  ourStacks,
  perfStacks,
  type PlainStack,
  PROGRAM,
  record,
  type RecordedStacks,
  runs,
  samplyStacks,
} from "../support/unwound.ts";
import { skipped } from "../support/ignored.ts";

/** Whether the innermost frames of a stack equal all frames of another. */
function isPrefix(part: PlainStack, whole: PlainStack): boolean {
  return part.every((frame, i) => frame === whole[i]);
}

/** Whether the frames of a stack occur in another stack, in that order. */
function isPart(part: PlainStack, whole: PlainStack): boolean {
  let k = 0;
  for (const frame of whole) if (frame === part[k]) k++;
  return k === part.length;
}

const isSame = (a: PlainStack, b: PlainStack): boolean => a.length === b.length && isPrefix(a, b);

const shown = (name: string, ours: PlainStack, theirs: PlainStack): string =>
  `${name}\n${ours.join("\n")}\n--\n${theirs.join("\n")}`;

/** The frames at the start of threads: those at the end of at least one in 40 stacks. */
function startsOf(stacks: readonly { readonly frames: PlainStack }[]): Set<string> {
  const counts = new Map<string, number>();
  for (const { frames } of stacks) {
    const last = frames.at(-1) ?? "";
    counts.set(last, (counts.get(last) ?? 0) + 1);
  }
  return new Set([...counts].filter(([, n]) => n > stacks.length / 40).map(([frame]) => frame));
}

/**
 * A stack without unmapped addresses at its end, which are no callers, and which readers handle
 * differently. They come from registers that are being changed: the kernel restores those of a
 * signal frame, or an exception those of its catcher.
 */
function mapped(frames: PlainStack): PlainStack {
  return frames.slice(0, frames.findLastIndex((frame) => !frame.endsWith(" [unknown]")) + 1);
}

/** A stack on top of another one, which was not copied, ends; any reader has to guess. */
function upTo(
  { stacks, engine }: RecordedStacks,
  isSwitch: (frame: string) => boolean,
): ComparedStacks {
  const ends = new Set<string>();
  let switched = 0;
  const cut = stacks.map(({ key, frames: all }) => {
    const frames = mapped(all);
    const at = frames.findIndex(isSwitch);
    if (at < 0) return { key, frames };
    switched++;
    ends.add(frames[at] as string);
    return { key, frames: frames.slice(0, at + 1) };
  });
  return { stacks: cut, engine, starts: startsOf(stacks).union(ends), switched };
}

/** Compared values. */
interface ComparedStacks extends RecordedStacks {
  /** The frames that stacks may end with. */
  readonly starts: ReadonlySet<string>;
  /** Number of stacks that end at the start of another one, which was not copied. */
  readonly switched: number;
}

/**
 * Limit of the stacks that end without an explanation: a sample may hit an instruction at which
 * call frame information is invalid, such as those that restore registers after a signal or an
 * exception. Here one of about 20,000 stacks did, and a run has 1,800: more than three are the
 * reader's fault.
 */
const MOST_ODD = 3;

/** Unexplained stacks, by flavour and sample. */
type Odd = Map<string, string>;

/**
 * Compares with perf (libunwind). Where the two differ, perf has read a frame pointer from below
 * the stack after `pop`, does not know static programs, loses files that are mapped twice, or has
 * no `.debug_frame`: the reader that reaches the thread's start is right.
 */
async function againstPerf(
  name: string,
  data: string,
  { stacks, engine, starts, switched }: ComparedStacks,
  guesses: boolean,
  odd: Odd,
): Promise<number> {
  const args = ["script", "--no-inline", "--ns", "-F", "tid,time,ip,dso"];
  const perf = perfStacks((await perfText(args, data))?.stdout ?? "");
  assertEquals(stacks.map(({ key }) => key), perf.map(({ key }) => key), name);
  const { all } = engine.unwound ?? {};
  assert(all !== undefined && all.stacks > 10, `${name}: ${all?.stacks} stacks`);
  let equal = 0, shorter = 0, missing = switched;
  stacks.forEach(({ key, frames }, i) => {
    const theirs = mapped(perf[i]?.frames ?? []);
    if (isSame(frames, theirs)) equal++;
    else if (name === "i386") missing += Number(frames.at(-1)?.endsWith("[vdso]"));
    else if (frames.length < 3 || !isPrefix(theirs, frames)) {
      const isStart = guesses || starts.has(frames.at(-1) ?? "");
      if (!isStart) odd.set(`${name} ${key}`, shown("perf", frames, theirs));
      else if (frames.length < theirs.length) shorter++;
    }
  });
  // In code without call frame information, such as _init and _fini, a guess may skip a caller.
  assert(shorter <= all.guessed, `${name}: ${shorter} stacks are shorter than perf's`);
  // The others were interrupted while entering a program, or leaving the kernel.
  const complete = all.ends[0] as number;
  assert(
    guesses || complete > (all.stacks - missing) * 0.9,
    `${name}: ${complete} of ${all.stacks} reach the start`,
  );
  return equal;
}

/**
 * Compares with samply (framehop), which has no rules for signal frames and ends there, or
 * continues with addresses that are no code; in Go it only follows frame pointers, and skips
 * callers of functions that have not set theirs up.
 */
async function againstSamply(
  name: string,
  data: string,
  { stacks, starts }: ComparedStacks,
  guesses: boolean,
  odd: Odd,
): Promise<[compared: number, equal: number]> {
  const samply = await samplyStacks(data, `${data}.json`);
  if (samply === undefined) return [0, 0];
  const ours = Map.groupBy(stacks, ({ key }) => Number.parseInt(key));
  const ends = new Set([...starts].map(byAddress));
  let compared = 0, equal = 0;
  for (const [tid, list] of ours) {
    const theirs = samply.get(tid) ?? [];
    // A process after exec is another process there, and may be missing.
    if (theirs.length !== list.length) continue;
    list.forEach(({ key, frames: all }, i) => {
      const isUser = (frame: string) => frame !== "kernel" && !frame.includes("kernel");
      const frames = all.filter(isUser).map(byAddress);
      const other = (theirs[i] ?? []).filter(isUser);
      compared++;
      if (isSame(frames, other)) {
        equal++;
        return;
      }
      const wrong = other.findIndex((frame, k) => frame !== frames[k]);
      const explained = wrong < 0 || other[wrong]?.startsWith("?") || isPart(other, frames) ||
        ends.has(frames.at(-1) ?? "") || guesses;
      if (!explained) odd.set(`${name} ${key}`, shown("samply", frames, other));
    });
  }
  return [compared, equal];
}

Deno.test({
  name: "unwinding: stacks have the frames of perf and samply, and continue where these stop",
  ignore: perfVersion() === undefined,
  fn: (t) =>
    inFolder(async (folder) => {
      let stacks = 0, equal = 0, flavours = 0, compared = 0, equalToSamply = 0;
      const odd: Odd = new Map();
      // The next program is compiled while the stacks of the previous one are compared.
      let next = record(FLAVOURS[0] as Flavour, folder, 0);
      for (const [i, { name, guesses = false, switches }] of FLAVOURS.entries()) {
        const { data, program, failed } = await next;
        const following = FLAVOURS[i + 1];
        if (following !== undefined) next = record(following, folder, i + 1);
        if (failed !== undefined) {
          await skipped(t, `${name}: ${failed}`);
          continue;
        }
        const ours = upTo(
          await ourStacks(data, `${folder}/debug`),
          switches === undefined ? () => false : framesIn(program, switches),
        );
        const same = await againstPerf(name, data, ours, guesses, odd);
        // It does not support 32-bit programs.
        const [some, ofThem] = name === "i386"
          ? [0, 0]
          : await againstSamply(name, data, ours, guesses, odd);
        const { length } = ours.stacks;
        console.log(`${name}: ${same} of ${length} as perf, ${ofThem} of ${some} as samply`);
        stacks += length;
        equal += same;
        compared += some;
        equalToSamply += ofThem;
        flavours++;
        for (const path of [data, program]) Deno.removeSync(path);
      }
      console.log(`${flavours} flavours: ${equal} of ${stacks} stacks as perf`);
      if (compared === 0) await skipped(t, "no samply here (cargo install samply)");
      else console.log(`${equalToSamply} of ${compared} stacks as samply`);
      const unexplained = Array.from(odd, ([stack, frames]) => `${stack}: not as ${frames}`);
      for (const text of unexplained) console.log(text);
      assert(odd.size <= MOST_ODD, unexplained.join("\n"));
      assert(flavours === 0 || stacks > 100);
      assert(flavours < 4 || equal > stacks / 3, `${equal} of ${stacks}`);
      assert(equalToSamply >= 0.7 * compared, `${equalToSamply} of ${compared} as samply`);
    }),
});

Deno.test({
  name: "symbols bundle: stacks are unwound from the bundle without binaries",
  ignore: perfVersion() === undefined,
  fn: (t) =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.cc`, PROGRAM);
      const program = `${folder}/a`, data = `${folder}/perf.data`;
      const failed = runs("g++", "-O2", "-pthread", "-o", program, `${folder}/a.cc`) ??
        runs(
          ...["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "1999"],
          ...["--call-graph", "dwarf", "-o", data, program, "800"],
        );
      if (failed !== undefined) {
        await skipped(t, `${failed}`);
        return;
      }
      const bundle = `${folder}/perf.symbols`, gone = `${folder}/gone`;
      const tree = async (...flags: string[]) =>
        (await tool("tree", ["--json", ...flags, data])).out;
      assertEquals((await tool("symbols", ["bundle", "-o", bundle, data])).code, 0);
      Deno.mkdirSync(gone);
      const here = await tree();
      assert(here.split("\n").length > 50);
      assertEquals(await tree("--symbols", bundle, "--symfs", gone), here);
      // Without the bundle there are no names, which is reported.
      const without = await tool("tree", ["--symfs", gone, data], {
        env: { HOME: gone, DENO_DIR: denoFolder() },
      });
      assert(/stacks reach the start.* in files that are missing/.test(without.err), without.err);
      const trust = await tool("symbols", ["trust", "--json", data]);
      const { rows } = JSON.parse(trust.out).stacks;
      assert(rows[0].of === "all" && rows[0].complete > rows[0].stacks * 0.5, trust.out);
    }),
});

/** A pipe with build ids after all other records. */
function buildIdsLast(pipe: Uint8Array): Uint8Array {
  const view = new DataView(pipe.buffer, pipe.byteOffset, pipe.length);
  const [others, ids]: [Uint8Array[], Uint8Array[]] = [[pipe.subarray(0, 16)], []];
  for (let at = 16, size; at < pipe.length; at += size) {
    size = view.getUint16(at + 6, true);
    const isId = view.getUint32(at, true) === PERF_RECORD_HEADER_BUILD_ID;
    (isId ? ids : others).push(pipe.subarray(at, at + size));
  }
  assert(ids.length > 0);
  const late = new Uint8Array(pipe.length);
  let at = 0;
  for (const part of [...others, ...ids]) {
    late.set(part, at);
    at += part.length;
  }
  return late;
}

Deno.test({
  name: "unwinding: binaries with another build id are not used, for files and pipes",
  ignore: perfVersion() === undefined,
  fn: (t) =>
    inFolder(async (folder) => {
      const program = `${folder}/a`, data = `${folder}/perf.data`;
      const pipe = `${folder}/pipe`, late = `${folder}/late`;
      Deno.writeTextFileSync(`${folder}/a.cc`, PROGRAM);
      const build = (...flags: string[]) =>
        runs("g++", ...flags, "-pthread", "-o", program, `${folder}/a.cc`);
      // Copies of the binaries would be found in a cache.
      const sampled = ["record", "-q", "-e", "cpu-clock:u", "-F", "1999", "--call-graph", "dwarf"];
      const failed = build("-O2", "-Wl,--build-id") ??
        runs("env", `HOME=${folder}/cache`, "perf", ...sampled, "-o", data, program, "300");
      if (failed !== undefined) {
        await skipped(t, `${failed}`);
        return;
      }
      assertEquals((await tool("convert", ["--pipe", "-o", pipe, data])).code, 0);
      Deno.writeFileSync(late, buildIdsLast(Deno.readFileSync(pipe)));
      const home = `${folder}/home`;
      Deno.mkdirSync(home);
      const env = { HOME: home, DENO_DIR: denoFolder() };
      const ways: [string[], Uint8Array<ArrayBuffer>?][] = [
        [[data]],
        [[pipe]],
        [[late]],
        [["-"], Deno.readFileSync(late)],
        [["-"], Deno.readFileSync(data)],
      ];
      const trees = async () => {
        const found: string[] = [];
        for (const [operands, stdin] of ways) {
          const { out } = await tool("tree", ["--json", ...operands], {
            env,
            ...(stdin === undefined ? {} : { input: stdin }),
          });
          found.push(out);
        }
        return found;
      };
      const [right, ...others] = await trees();
      assert((right?.split("\n").length ?? 0) > 30);
      for (const other of others) assertEquals(other, right);
      Deno.removeSync(program);
      assertEquals(build("-O0", "-fomit-frame-pointer", "-Wl,--build-id"), undefined);
      const [refused, ...also] = await trees();
      assert(refused !== right);
      for (const other of also) assertEquals(other, refused);
    }),
});

Deno.test({
  name: "call stacks from branch records (--call-graph lbr) equal those of perf script",
  ignore: perfVersion() === undefined,
  async fn(t) {
    const file = corpusFiles().find(({ name }) => name.endsWith("/perf.lbr.data"));
    if (file === undefined) {
      await skipped(t, "no recording with --call-graph lbr");
      return;
    }
    const args = ["script", "--no-inline", "--ns", "-F", "tid,time,ip,dso"];
    const perf = perfStacks((await perfText(args, file.path))?.stdout ?? "");
    const { stacks } = await ourStacks(file.path, "/nowhere");
    // For branches out of the kernel perf prints recorded addresses.
    const plain = (frames: PlainStack) =>
      frames.map((frame) => frame.startsWith("ffffffff") ? "kernel" : frame);
    // For a sample without branches perf 6.1 prints the next words as an address; the chain has the
    // user's frame.
    const branches: number[] = [];
    await runEngine(await PerfDataReader.open(openSource(file.path)), [{
      needs: { branches: true },
      rows({ count, type, branchStart }) {
        for (let i = 0; i < count; i++) {
          if (type[i] === 9) branches.push((branchStart[i + 1] ?? 0) - (branchStart[i] ?? 0));
        }
      },
    }]);
    const some = <T>(all: readonly T[]) => all.filter((_, i) => (branches[i] ?? 0) > 0);
    // The sampled address precedes a chain that does not begin with it.
    const theirs = some(perf).map(({ key, frames }) => [key, ...plain(frames)]);
    const ours = some(stacks).map(({ key, frames }, i) => {
      const extra = frames.length === (theirs[i]?.length ?? 0);
      return [key, ...plain(extra ? frames.slice(1) : frames)];
    });
    assertEquals(ours, theirs);
    assert(some(stacks).length > 20, String(some(stacks).length));
  },
});
