import { assertEquals } from "@std/assert";
import { intAt } from "@perfdata/format/bytes";
import type { Packet } from "@perfdata/intel-pt";
import { addressFromHalves } from "@perfdata/symbols/resolver";
import { ROW } from "../lists/pt_list.ts";
import { BASE, ip, psb, type Small, small, tnt, tsc } from "../testing.ts";
import { Replay, type ReplayOptions, type Step } from "./replay.ts";

/**
 * Two calls of 1010, a jump to the start, and a loss of packets, after which 1010 runs on, whose
 * call is not known. Code after the last packet is not known to have run.
 */
const PACKETS: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  tnt("11"),
  tsc(3000),
  ip("TIP", BASE),
  { type: "OVF" },
  ip("FUP", 0x1011n),
  tsc(4000),
  ip("TIP", 0x100an),
  ip("TIP", BASE),
];

/** The addresses of the steps; `gap` for an error, `start` for the start of tracing. */
const ALL = "start 1000 1010 1011 1012 1005 1010 1011 1012 100a gap start 1011 1012 100a"
  .split(" ");

function stepText({ rows, row }: Step): string {
  const address = addressFromHalves(intAt(rows.high, row), intAt(rows.low, row));
  if (rows.row[row] === ROW.INSN) return address.toString(16);
  return rows.kind[row] === 5 ? "gap" : "start";
}

async function opened(
  recording: Small = { cpus: [PACKETS] },
  options: Partial<ReplayOptions> = {},
): Promise<Replay> {
  const { trace, names } = await small(recording);
  const replay = await Replay.open({ trace, names, most: 4, ...options });
  if (replay === undefined) throw new Error("no thread ran");
  return replay;
}

Deno.test("Replay: steps back from the end, part by part, and forward again", async () => {
  const replay = await opened();
  const back = [stepText(replay.current)];
  while ((await replay.step(-1)).isFound) back.unshift(stepText(replay.current));
  assertEquals(back, ALL);
  const forward = [stepText(replay.current)];
  while ((await replay.step(1)).isFound) forward.push(stepText(replay.current));
  assertEquals(forward, ALL);
});

/** Keys of {@linkcode moved}. */
const MOVES: Readonly<Record<string, (replay: Replay) => Promise<{ readonly gap?: string }>>> = {
  b: (replay) => replay.step(-1),
  f: (replay) => replay.step(1),
  c: (replay) => replay.call(-1),
  C: (replay) => replay.call(1),
  u: (replay) => replay.out(-1),
  o: (replay) => replay.out(1),
  l: (replay) => replay.line(-1, true),
  L: (replay) => replay.line(1, true),
};

/** The steps after moves. */
async function moved(replay: Replay, moves: string): Promise<string> {
  const steps: string[] = [];
  for (const move of moves) {
    const { gap } = await MOVES[move]?.(replay) ?? {};
    steps.push(stepText(replay.current) + (gap === undefined ? "" : ` (${gap})`));
  }
  return steps.join(" ");
}

const LOST = "gap (overflow: the processor lost packets)";

Deno.test("Replay: moves to calls and callers stop at a gap, and stay if there is no step", async () => {
  for (const most of [2, 4, 100]) {
    const replay = await opened(undefined, { most });
    // The jump was reached by a return from 1010, whose call is before the gap.
    assertEquals(await moved(replay, "c"), LOST, `${most}`);
    assertEquals(await moved(replay, "cuccu"), "1005 1005 1000 1000 1000");
    // The caller of 1000 is not known.
    assertEquals(await moved(replay, "fffo"), "1010 1011 1012 1005");
    assertEquals(await moved(replay, "fuCoC"), `1010 1005 ${LOST} 100a 100a`);
  }
});

Deno.test("Replay: a move over lines passes the calls of a function", async () => {
  const replay = await opened(undefined, { most: 3 });
  await replay.goToStart();
  // Without lines, a line is a function; each address is one here.
  assertEquals(await moved(replay, "LLLLLL"), `1005 100a ${LOST} 1011 1012 100a`);
  assertEquals(await moved(replay, "llllll"), `${LOST} 100a 1005 1000 1000 1000`);
});

Deno.test("Replay: the calls around a step are those that were decoded", async () => {
  const replay = await opened();
  const { places } = replay.thread.trace.code;
  const callers = () => replay.callers().map((place) => places.address(place).toString(16));
  await replay.goToStart();
  const seen: string[] = [];
  do seen.push(`${stepText(replay.current)}:${callers()}`); while ((await replay.step(1)).isFound);
  assertEquals(
    seen.slice(0, 10).join(" "),
    "start: 1000: 1010:0 1011:0 1012:0 1005: 1010:5 1011:5 1012:5 100a:",
  );
});

Deno.test("Replay: goTo goes to the last step at a time, or before", async () => {
  const replay = await opened();
  const [first, last] = replay.span ?? [NaN, NaN];
  assertEquals(last - first, 1488);
  // The calls ran at the time of the second TSC packet, the jump at that of the third.
  assertEquals(await replay.goTo(first + 500), true);
  assertEquals(stepText(replay.current), "1012");
  assertEquals(await replay.goTo(first - 1), false);
  assertEquals(stepText(replay.current), "1012");
  assertEquals(await moved(replay, "f"), "100a");
  const isJump = (step: Step) => stepText(step) === "100a";
  assertEquals((await replay.find(1, isJump)).isFound, true);
  assertEquals((await replay.find(1, isJump)).isFound, false);
  assertEquals(stepText(replay.current), "100a");
});
