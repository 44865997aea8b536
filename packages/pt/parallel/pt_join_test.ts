import { assertEquals } from "@std/assert";
import type { Packet } from "@perfdata/intel-pt";
import type { CallEvents } from "../calls/pt_call_events.ts";
import { PLACE_ROWS } from "../calls/pt_call_log.ts";
import { PtCalls } from "../calls/pt_calls.ts";
import { decodePt } from "../decode/pt_run.ts";
import { PtList } from "../lists/pt_list.ts";
import { rowLines } from "../lists/pt_text.ts";
import { BASE, ip, type OpenedSmall, psb, small, tnt, tsc } from "../testing.ts";
import { callWhole, joinCalls, listCalls } from "./pt_join_calls.ts";
import { joinList, listWhole } from "./pt_join_list.ts";
import type { PtWorkers } from "./pt_join.ts";
import type { PtWhole } from "./pt_ranges.ts";
import { servePt } from "./serve_pt.ts";
import { threadWithin } from "../../session/workers/testing.ts";

/** Calls that are open across PSBs, returns of earlier calls, interrupts, and times in between. */
function packets(from: number): Packet[] {
  const all: Packet[] = psb(from, BASE);
  let time = from;
  for (let i = 0; i < 60; i++) {
    all.push(tsc(time += 700 + 10 * i));
    switch (i % 5) {
      case 0:
        // A call whose return comes after a PSB.
        all.push(...psb(time += 50, 0x1011n), tsc(time += 300), ip("TIP", 0x1005n));
        break;
      case 1:
        all.push(tnt("1"), ip("TIP", BASE));
        break;
      case 2:
        all.push(tnt("11"), ip("TIP", BASE), ip("FUP", 0x1010n), ip("TIP.PGD"));
        all.push(tsc(time += 900), ip("TIP.PGE", 0x1010n), ip("TIP", 0x1005n));
        break;
      case 3:
        all.push(tnt("1"), ip("TIP", 0x100cn), ip("TIP.PGD"), tsc(time += 90));
        all.push(ip("TIP.PGE", 0x100en), ip("TIP", 0x1005n), ...psb(time += 5, 0x1012n));
        all.push(ip("TIP", 0x100an), ip("TIP", BASE));
        break;
      default:
        all.push(tnt("11"), ip("TIP", BASE));
        all.push({ type: "PTW", operandSize: 8, payload: BigInt(i) << 30n, ip: true });
        all.push(ip("FUP", BASE));
    }
  }
  return all;
}

const CPUS = [packets(0), packets(333)];

/** Decoding in this thread, with ranges of a few PSBs. */
const PARTS = [300, 700, 1500].map((rangeBytes) => ({
  jobs: 1,
  rangeBytes,
  about: undefined,
  start: () => {
    throw new Error("no thread is started");
  },
}));

/** Three threads besides this one, each with its own copy of the recording. */
function threads(whole: () => Promise<PtWhole<unknown>>): PtWorkers {
  return {
    jobs: 4,
    rangeBytes: 250,
    about: "about",
    start: () => threadWithin((scope) => servePt(whole, scope)),
  };
}

const open = () => small({ cpus: CPUS, tids: [7, 8] });
const whole = ({ trace }: OpenedSmall, what: { tree: boolean; events: boolean }) =>
  callWhole({ trace, rows: PLACE_ROWS, filter: {}, wants: () => true, ...what });

function summed(
  { trace: { code: { places: table } } }: OpenedSmall,
  { sums, latency, tree }: PtCalls,
): string[] {
  const rows = Array.from({ length: table.count }, (_, place) => {
    const { calls, open, time, insns, slowest } = latency.of(place) ?? {};
    return [
      table.address(place),
      sums.insnsOf[place],
      sums.timeOf[place],
      ...[calls, open, time, insns, slowest?.[0]?.duration],
    ].join(" ");
  });
  const paths = Array.from({ length: tree?.count ?? 0 }, (_, node) => {
    const path: number[] = [];
    for (let at = node; at >= 0; at = tree?.parent[at] ?? -1) {
      path.unshift(table.address(tree?.place[at] ?? 0));
    }
    return `${tree?.tid[node]}: ${path.join(";")} ${tree?.insns[node]} ${
      tree?.time[node]?.toFixed(3)
    }`;
  });
  return [...rows.sort(), ...paths.filter((path) => !path.endsWith(" 0 0.000")).sort()];
}

Deno.test("joinCalls: ranges of a trace give the sums and stacks that one thread finds", async () => {
  for (const tree of [false, true]) {
    const one = await open();
    const calls = new PtCalls(one.trace, { tree });
    const counts = await decodePt(one.trace, calls);
    calls.finish();
    const wanted = summed(one, calls);
    const others = threads(async () => whole(await open(), { tree, events: false }));
    for (const parts of [...PARTS, others]) {
      const other = await open();
      const joined = await joinCalls(whole(other, { tree, events: false }), parts);
      const about = `${parts.rangeBytes} bytes, tree: ${tree}`;
      assertEquals((joined?.ranges ?? 0) > 2, true, about);
      assertEquals(joined === undefined ? [] : summed(other, joined.calls), wanted, about);
      assertEquals(joined?.counts, counts, about);
    }
  }
});

function eventLines(
  { trace: { code: { places: table } } }: OpenedSmall,
  events: CallEvents,
): string[] {
  return Array.from({ length: events.count }, (_, i) =>
    [
      events.kind[i],
      events.tid[i],
      events.cpu[i],
      events.depth[i],
      table.address(events.place[i] ?? 0),
      events.time[i],
      events.duration[i],
      events.insns[i],
    ].join(" "));
}

Deno.test("listCalls: ranges of a trace give the calls that one thread finds, in its order", async () => {
  const listed = async (parts: PtWorkers | undefined) => {
    const opened = await open();
    const lines: string[] = [];
    const found = await listCalls(
      whole(opened, { tree: false, events: true }),
      parts,
      {},
      (events) => {
        lines.push(...eventLines(opened, events));
      },
    );
    return { lines, isJoined: found.joined !== undefined };
  };
  const one = await listed(undefined);
  assertEquals([one.isJoined, one.lines.length > 200], [false, true]);
  const others = threads(async () => whole(await open(), { tree: false, events: true }));
  for (const parts of [...PARTS, others]) {
    assertEquals(await listed(parts), { lines: one.lines, isJoined: true });
  }
});

Deno.test("joinList: ranges of a trace give the text that one thread makes", async () => {
  const options = { branches: true, insns: true, events: true, json: true, source: false };
  const one = await open();
  let wanted = "";
  const list: PtList = new PtList(one.trace, {
    ...options,
    idle: async () => {
      await one.names.resolve();
      for (const line of rowLines(list.rows, one.names, list.texts, options)) wanted += `${line}\n`;
      list.rows.clear();
    },
  });
  await decodePt(one.trace, list);
  await list.idle();
  const listOf = ({ trace, names }: OpenedSmall) =>
    listWhole({ trace, wants: () => true }, names, options);
  const others = threads(async () => listOf(await open()));
  for (const parts of [...PARTS, others]) {
    const opened = await open();
    const decoder = new TextDecoder();
    let text = "";
    const found = await joinList(listOf(opened), parts, options, (bytes) => {
      text += decoder.decode(bytes);
    });
    assertEquals(found?.rows, wanted.split("\n").length - 1, `${parts.rangeBytes}`);
    assertEquals(text, wanted, `${parts.rangeBytes}`);
    // The text has all places of the trace.
    const { count } = opened.trace.code.places;
    assertEquals([found?.met.length, found?.met.every((is) => is === 1)], [count, true]);
  }
});
