/** `pt --replay` on programs stepped with ptrace: back and forward, its steps are those executed. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { bytesSource } from "@perfdata/format/bytes";
import { addressText, PtNames, Replay, ROW, type Step } from "@perfdata/pt/decode";
import { SymbolResolver } from "@perfdata/symbols";
import { localResolver } from "@perfdata/symbols/files";
import type { EncodeOptions } from "../../fixtures/stepped/encode.ts";
import {
  cannotStep,
  encodeOnCpus,
  encodeProgram,
  type SteppedProgram,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { localTrace } from "../support/local_trace.ts";
import { onTerminal } from "../support/on_terminal.ts";
import { inFolder, tool } from "../support/tool.ts";

/** Times from CYC packets depend on where decoding begins. */
const TIMED: EncodeOptions = {
  psbEvery: 700,
  compressReturns: true,
  tsc: true,
  mtc: true,
  cyc: true,
};
const UNTIMED: EncodeOptions = { psbEvery: 4000, compressReturns: false };
/** Steps of a part. */
const MOST = 4000;

const NO_NAMES = new SymbolResolver({ open: () => undefined, read: () => undefined });

async function opened(
  file: Uint8Array,
  options: { readonly tid?: number; readonly names?: boolean; readonly most?: number } = {},
): Promise<Replay> {
  const { tid, most = MOST } = options;
  const trace = await localTrace(bytesSource(file as Uint8Array<ArrayBuffer>));
  const names = new PtNames(trace.code, options.names === true ? localResolver({}) : NO_NAMES);
  const replay = await Replay.open({ trace, names, tid, most });
  assert(replay !== undefined);
  return replay;
}

function addressOf({ rows, row }: Step): string | undefined {
  return rows.row[row] === ROW.INSN ? addressText(rows, row) : undefined;
}

/** The addresses up to an end of the thread, in the order of the moves. */
async function walked(replay: Replay, distance: number): Promise<string[]> {
  const addresses: string[] = [];
  do {
    const address = addressOf(replay.current);
    if (address !== undefined) addresses.push(address);
  } while ((await replay.step(distance)).isFound);
  return addresses;
}

/** A program with calls, stepped, as a recording with times. */
interface Stepped {
  readonly folder: string;
  readonly path: string;
  readonly program: SteppedProgram;
  readonly file: Uint8Array;
  /** The addresses of its instructions. */
  readonly truth: readonly string[];
}

async function withCalls(use: (stepped: Stepped) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const program = stepProgram(folder, { program: "calls", flags: ["-g", "-O1", "-static"] });
    const encoded = encodeProgram(program, TIMED);
    const file = await steppedFile(program, encoded, TIMED);
    const path = `${folder}/perf.data`;
    Deno.writeFileSync(path, file);
    const truth = Array.from(encoded.truth, (address) => address.toString(16));
    await use({ folder, path, program, file, truth });
  });
}

/** Compares steps back from the end, and forward again, with those executed. */
async function compare(replay: Replay, truth: readonly string[], about: string): Promise<void> {
  const back = await walked(replay, -1);
  back.reverse();
  const at = back.findIndex((address, i) => address !== truth[i]);
  assertEquals([at, back.length], [-1, truth.length], `${about}: back`);
  const forward = await walked(replay, 1);
  const wrong = forward.findIndex((address, i) => address !== truth[i]);
  assertEquals([wrong, forward.length], [-1, truth.length], `${about}: forward`);
  assert(replay.count < 7 * MOST, `${about}: ${replay.count} steps are held`);
}

/** Without times, each part is decoded from the start. */
async function compareUntimed({ program }: Stepped): Promise<void> {
  const encoded = encodeProgram(program, UNTIMED);
  const truth = Array.from(encoded.truth, (address) => address.toString(16));
  const replay = await opened(await steppedFile(program, encoded, UNTIMED));
  assertEquals(addressOf((await replay.near(-1)) as Step), truth.at(-1));
  await replay.goToStart();
  await replay.step(9000);
  const back = await walked(replay, -1);
  assertEquals(back.reverse(), truth.slice(0, back.length));
  assert(back.length > 8900);
}

/** The last call of a recursive function has a caller for each of its calls. */
async function checkCallers({ file }: Stepped): Promise<void> {
  const replay = await opened(file, { names: true });
  const { names } = replay;
  const isIn = (name: string) => ({ rows, row }: Step) =>
    names.names[rows.a[row] as number] === name;
  assert((await replay.find(-1, isIn("deep"))).isFound);
  let deepest = 0;
  while (isIn("deep")(replay.current)) {
    const depth = replay.callers().filter((place) => names.names[place] === "deep").length;
    deepest = Math.max(deepest, depth);
    await replay.step(-1);
  }
  // The last call is table[58 % 3](58 % 9), deep(4), which calls itself four times.
  assertEquals(deepest, 4);
  const call = replay.current;
  assert(isIn("main")(call));
  await replay.goTo(Infinity);
  await replay.find(-1, isIn("deep"));
  assert((await replay.out(-1)).isFound);
  assertEquals(replay.current.rows.cursor(replay.current.row).offset, call.rows.offset[call.row]);
  names.close();
}

/** Without a terminal, `pt --replay` prints the last steps up to a moment. */
async function checkLines({ path, truth }: Stepped): Promise<void> {
  const pt = (...args: string[]) => tool("perfdata", ["pt", "--replay", ...args, path]);
  const { out, err, code } = await pt("--last", "40");
  assertEquals(code, 0, err);
  assertMatch(
    err.replaceAll(/\s+/g, " "),
    /the last 40 steps of thread \d+, which ran last; --last N/,
  );
  const lines = out.trimEnd().split("\n");
  assertEquals(lines.length, 40);
  // Ends of tracing have no address here.
  const addresses = lines.flatMap((line) => /\d\.\d{9} +([0-9a-f]+) /.exec(line)?.[1] ?? []);
  assertEquals(addresses, truth.slice(truth.length - addresses.length));
  assert(addresses.length > 30);
  const middle = await pt("--json", "--last", "5", "--at", "50%");
  const rows = middle.out.trimEnd().split("\n").map((line) => JSON.parse(line));
  const first = truth.indexOf(BigInt(rows[0].ip).toString(16));
  assertEquals(rows.length, 5);
  assert(first >= 0);
  const wrong = await pt("--last", "10ms");
  assertEquals(wrong.code, 2);
  const none = await pt("--tid", "1");
  assertEquals([none.code, none.out], [1, ""]);
  assertStringIncludes(none.err, "thread 1 was not traced");
}

Deno.test(
  "pt --replay: steps back and forward are those executed, with their callers; lines are the last ones",
  ignored(cannotStep()),
  () =>
    withCalls(async (stepped) => {
      await compare(await opened(stepped.file), stepped.truth, "calls");
      await compareUntimed(stepped);
      await checkCallers(stepped);
      await checkLines(stepped);
    }),
);

Deno.test(
  "Replay: a thread that moves between CPUs keeps its steps; by default the last thread is shown",
  ignored(cannotStep()),
  () =>
    inFolder(async (folder) => {
      const program = stepProgram(folder, {
        program: "family",
        flags: ["-O1", "-static"],
        executes: ["calls"],
        limit: 15_000,
      });
      const parts = encodeOnCpus(program, TIMED, 3, (turn) => turn * 7 % 3);
      const file = await steppedFile(program, parts, TIMED, { witness: "SWITCH" });
      const all = parts.flatMap(({ truth, truthTid, truthStep }) =>
        Array.from(truth, (address, i) => ({
          address: address.toString(16),
          tid: truthTid[i] as number,
          step: truthStep[i] as number,
        }))
      ).sort((a, b) => a.step - b.step);
      assertEquals((await opened(file)).thread.tid, all.at(-1)?.tid);
      const tids = new Set(all.map(({ tid }) => tid));
      assert(tids.size >= 3, `${tids.size} threads`);
      for (const tid of tids) {
        const truth = all.filter((insn) => insn.tid === tid).map(({ address }) => address);
        await compare(await opened(file, { tid, most: 1000 }), truth, `thread ${tid}`);
      }
    }),
);

Deno.test({
  name: "pt --replay on a terminal: keys go back to a function and its caller, with source lines",
  ...ignored(notInstalled("tmux") ?? cannotStep()),
  fn: () =>
    withCalls(async ({ path }) => {
      await onTerminal(
        ["--replay", path],
        { command: "pt", rows: 34, columns: 100 },
        async (tmux) => {
          await tmux.screen(/^> .* tr end .* _exit/m);
          await tmux.keys("/", "f", "i", "b", "Enter");
          const found = await tmux.screen(/^> .* fib\+0x\w+ +ret/m);
          assertMatch(found, /calls\.c:9\n/);
          assertStringIncludes(found, "NOINLINE static int fib(int n) { return n < 2");
          assertMatch(found, /called from .*\n +main\+0x/);
          await tmux.keys("u");
          await tmux.screen(/^> .* main\+0x\w+ +call\w* /m);
          await tmux.keys("q");
          await tmux.screen(/^ended 0/m);
        },
      );
    }),
});
