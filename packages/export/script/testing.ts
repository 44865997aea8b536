// Intel PT recordings with samples that perf printed: fixtures/printed/pt.
import type { Packet } from "@perfdata/intel-pt";
import type { Item } from "../../../fixtures/synthesize/recording.ts";
import { at, BASE, CYCLES, ip, psb, type Small, tnt, tsc } from "../../pt/testing.ts";

/** Both calls twice, the second time after a jump; then a system call at 100c. */
const CALLS: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  tnt("11"),
  tsc(3000),
  ip("TIP", BASE),
  tnt("1"),
  tsc(5000),
  tnt("1"),
  ip("TIP", 0x100cn),
  ip("FUP", 0x100cn),
  ip("TIP.PGD"),
  tsc(2_800_007_000),
  ip("TIP.PGE", 0x100en),
  ip("TIP", 0x1005n),
  tnt("1"),
  tsc(2_800_009_000),
  ip("TIP", BASE),
];

/** PTWRITE payloads, a transaction, power events, and a page fault. */
const EVENTS: readonly Packet[] = [
  { type: "PSB" },
  tsc(0),
  { type: "CBR", ratio: 16 },
  { type: "MODE.Exec", csL: true, csD: false, interruptFlag: false },
  ip("FUP", BASE),
  { type: "PSBEND" },
  tsc(1000),
  { type: "CBR", ratio: 20 },
  tnt("1"),
  { type: "PTW", operandSize: 8, payload: 0x1_8000_0002n, ip: true },
  ip("FUP", 0x1005n),
  { type: "PTW", operandSize: 4, payload: 0x4142n, ip: false },
  { type: "PTW", operandSize: 8, payload: 0x6869_6a6b_6c6d_6e6fn, ip: false },
  { type: "PTW", operandSize: 8, payload: 0x41_0042n, ip: false },
  { type: "PTW", operandSize: 8, payload: 0x7fn, ip: false },
  { type: "PTW", operandSize: 8, payload: 0n, ip: false },
  tsc(2000),
  { type: "MODE.TSX", inTx: true, txAbort: false },
  ip("FUP", 0x1005n),
  tnt("1"),
  tsc(3000),
  { type: "MODE.TSX", inTx: false, txAbort: false },
  ip("FUP", 0x100an),
  ip("TIP", BASE),
  { type: "MWAIT", hints: 0x20, extensions: 1 },
  { type: "PWRE", hardware: true, cState: 1, subCState: 2 },
  { type: "EXSTOP", ip: true },
  ip("FUP", 0x1000n),
  tnt("1"),
  tsc(9000),
  { type: "PWRX", lastCState: 3, deepestCState: 4, wakeReason: 1 },
  tsc(9200),
  { type: "CBR", ratio: 25 },
  tnt("1"),
  { type: "EVD", eventType: 0, payload: 0x1_0000_1234n },
  { type: "EVD", eventType: 1, payload: 0n },
  { type: "CFE", eventType: 1, vector: 14, ip: true },
  ip("FUP", 0x100an),
  ip("TIP", 0x1010n),
  tsc(9500),
  ip("TIP", 0x1005n),
];

function comm(tid: number, name: string): Item {
  return {
    record: {
      type: 3,
      name: "COMM",
      misc: 0,
      body: { pid: tid, tid, comm: name },
      sample_id: { pid: tid, tid, time: at(-950), cpu: 0, identifier: 21n },
    },
    event: 1,
  };
}

/** The recordings, by name. */
export const PRINTED_RECORDINGS: Readonly<Record<string, Small>> = {
  calls: { cpus: [CALLS], items: [comm(7, "small")] },
  // Thread 8 has no name, and its packets are 300 ticks later.
  twice: {
    cpus: [
      CALLS,
      CALLS.map((packet) => packet.type === "TSC" ? { ...packet, tsc: packet.tsc + 300n } : packet),
    ],
    tids: [7, 8],
    items: [comm(7, "small")],
  },
  events: { cpus: [EVENTS], items: [comm(7, "small")], events: true },
  cycles: { cpus: [CYCLES], items: [comm(7, "small")], cyc: true },
};

/** A printed text: recording and options of `perf script`. */
export interface PrintedPt {
  readonly recording: string;
  /** Letters of `--itrace`. */
  readonly itrace: string;
  /** Fields of `-F`. */
  readonly fields?: string;
  /** Whether `--ns` was given. */
  readonly nanoseconds?: true;
}

/** The texts in fixtures/printed/pt. */
export const PRINTED_PT: readonly PrintedPt[] = [
  { recording: "calls", itrace: "b" },
  { recording: "calls", itrace: "b", fields: "+flags,+addr,-comm" },
  { recording: "calls", itrace: "b", nanoseconds: true },
  { recording: "calls", itrace: "b", fields: "pid,time,ip,sym,symoff,dso,flags" },
  { recording: "calls", itrace: "b", fields: "comm,pid,tid,cpu,addr,period" },
  { recording: "calls", itrace: "cr", fields: "+callindent,+flags" },
  { recording: "calls", itrace: "cr", fields: "+callindent,-ip,-addr,-symoff,-sym" },
  { recording: "calls", itrace: "i3ig4" },
  { recording: "calls", itrace: "i3ibg16", fields: "+flags" },
  { recording: "calls", itrace: "i3il2", fields: "+brstack" },
  { recording: "calls", itrace: "i3igl2", fields: "+brstacksym" },
  { recording: "calls", itrace: "i2il3", fields: "+brstackoff,-ip", nanoseconds: true },
  { recording: "twice", itrace: "b" },
  { recording: "twice", itrace: "i1i", nanoseconds: true },
  { recording: "events", itrace: "xwI" },
  { recording: "events", itrace: "xwI", fields: "+addr,-period,-symoff", nanoseconds: true },
  { recording: "events", itrace: "xwIg4" },
  { recording: "events", itrace: "xwpI", fields: "comm,tid,cpu,time,event,period,synth" },
  { recording: "cycles", itrace: "b", fields: "+ipc" },
  { recording: "cycles", itrace: "i1i", fields: "+ipc,+insn" },
];

/** File name of a text. */
export function printedName({ recording, itrace, fields, nanoseconds }: PrintedPt): string {
  const parts = [recording, itrace, ...(fields === undefined ? [] : [fields])];
  return `${parts.join(" ")}${nanoseconds ? " ns" : ""}`.replaceAll(" ", ".");
}
