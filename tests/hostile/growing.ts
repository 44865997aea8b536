/**
 * Recordings that grow in one respect each: `n` modules, locks, threads …; everything else stays
 * the same.
 */
import { emptyAttr } from "@perfdata/format/records";
import type { Feature } from "@perfdata/format/features";
import {
  HEADER_BUILD_ID,
  HEADER_CMDLINE,
  HEADER_EVENT_DESC,
  HEADER_TRACING_DATA,
} from "@perfdata/format/constants";
import {
  asFile,
  type Entry,
  type Item,
  type RecordingEvent,
} from "../../fixtures/synthesize/recording.ts";
import { schedulerRecording } from "../../packages/session/intervals/testing.ts";

/** IP, TID, TIME, PERIOD, CALLCHAIN, RAW; attrs with several events need IDENTIFIER. */
const [SAMPLE, CHAIN, RAW, IDENTIFIER] = [0x107n, 0x20n, 0x400n, 0x10000n] as const;

let clock = 0n;
const now = () => clock += 1000n;

function event(extra = 0n, id = 1n, more: object = {}): RecordingEvent {
  const empty = emptyAttr();
  const flags = { ...empty.flags, mmap: true, mmap2: true, comm: true, sample_id_all: true };
  const sample_type = SAMPLE | extra;
  return {
    attr: { ...empty, type: 1, sample_period: 1000n, sample_type, flags, ...more },
    ids: [id],
  };
}

function record(type: number, name: string, body: object, misc = 0, pid = 1): Item {
  const sample_id = { pid, tid: pid, time: now() };
  return { record: { type, name, misc, body, sample_id } as unknown as Entry };
}

function sample(ip: bigint, more: object = {}, misc = 2, pid = 1): Item {
  const body = { ip, pid, tid: pid, time: now(), period: 1000n, ...more };
  return { record: { type: 9, name: "SAMPLE", misc, body } as unknown as Entry };
}

function mmap(filename: string, addr: bigint, pid = 1, misc = 2): Item {
  const own = { pid, tid: pid, addr, len: 0x1000n, pgoff: 0n };
  if (misc === 1) return record(1, "MMAP", { ...own, filename }, misc, pid);
  const file = { maj: 1, min: 1, ino: 1n, ino_generation: 0n, prot: 5, flags: 2 };
  return record(10, "MMAP2", { ...own, ...file, filename }, misc, pid);
}

const comm = (text: string, pid = 1) => record(3, "COMM", { pid, tid: pid, comm: text }, 0, pid);

async function written(
  items: readonly Item[],
  features: readonly Feature[] = [],
  events: readonly RecordingEvent[] = [event()],
): Promise<Uint8Array> {
  return await asFile({ events, items, features }, true);
}

function each<T>(n: number, make: (i: number) => T): T[] {
  return Array.from({ length: n }, (_, i) => make(i));
}

const PAGE = (i: number) => 0x10_0000n + 0x1000n * BigInt(i);
const KERNEL = (i: number) => 0xffff_ffff_8000_0000n + 0x1000n * BigInt(i);

/** Formats of tracepoints, and a sample of the first, number 7. */
async function tracepoints(formats: readonly string[]): Promise<Uint8Array> {
  const raw = { raw: new Uint8Array(64).fill(1) };
  const attr = event(RAW, 1n, { type: 2, config: 7n });
  const value = {
    ...{ version: "0.5", bigendian: 0, long_size: 8, page_size: 4096, ftrace_formats: [] },
    ...{ header_page: "", header_event: "", kallsyms: "", printk_formats: "" },
    systems: [{ name: "sched", formats }],
  };
  const tracing = { id: HEADER_TRACING_DATA, name: "TRACING_DATA", value } as unknown as Feature;
  return await written([comm("program"), sample(0x10n, raw)], [tracing], [attr]);
}

function format(id: number, fields: string, print: string): string {
  return `name: sched_e${id}\nID: ${id}\nformat:\n${fields}\nprint fmt: ${print}\n`;
}

const field = (declaration: string, i: number) =>
  `\tfield:${declaration};\toffset:${8 * (i % 8)};\tsize:8;\tsigned:0;\n`;

/** Functions that make a recording with `n` items, by the name of the items. */
export const GROWING: Readonly<Record<string, (n: number) => Promise<Uint8Array>>> = {
  "kernel modules": (n) =>
    written([
      mmap("[kernel.kallsyms]_text", KERNEL(0), -1, 1),
      ...each(n, (i) => mmap(`/m/${i}.ko`, KERNEL(1 + i), -1, 1)),
      ...each(n, (i) => sample(KERNEL(1 + i) + 8n, {}, 1)),
    ]),
  "names of the kernel's code": (n) =>
    written([
      mmap("[kernel.kallsyms]_text", KERNEL(0), -1, 1),
      ...each(n, (i) => {
        const body = { addr: KERNEL(1 + i), len: 256, ksym_type: 1, flags: 0, name: `bpf_${i}` };
        return record(17, "KSYMBOL", body, 1);
      }),
      ...each(n, (i) => sample(KERNEL(1 + i) + 8n, {}, 1)),
    ]),
  "mappings of a process": (n) =>
    written([
      comm("program"),
      ...each(n, (i) => mmap(`/nowhere/${i}.so`, PAGE(i))),
      ...each(n, (i) => sample(PAGE(i) + 8n)),
    ]),
  "mappings at one address": (n) =>
    written(each(n, (i) => [mmap(`/nowhere/${i}.so`, PAGE(0)), sample(PAGE(0) + 8n)]).flat()),
  "processes": (n) =>
    written(
      each(n, (i) => {
        const task = { pid: 10 + i, ppid: 9 + i, tid: 10 + i, ptid: 9 + i, time: now() };
        return [
          record(7, "FORK", task, 0, 10 + i),
          comm(`p${i}`, 10 + i),
          mmap(`/nowhere/${i}`, PAGE(0), 10 + i),
          sample(PAGE(0), {}, 2, 10 + i),
        ];
      }).flat(),
    ),
  "names of a thread": (n) => written(each(n, (i) => [comm(`c${i}`), sample(PAGE(i))]).flat()),
  "entries of a call chain": (n) =>
    written(
      [
        mmap("/nowhere/a", PAGE(0)),
        ...each(8, (k) =>
          sample(PAGE(0), {
            callchain: [
              0xffff_ffff_ffff_fe00n,
              ...each(Math.min(n, 8000), (i) => PAGE(0) + BigInt(i + k)),
            ],
          })),
      ],
      [],
      [event(CHAIN)],
    ),
  "call chains": (n) => {
    // Instructions are apart from each other: 256 of them, in pairs.
    const at = (i: number) => PAGE(0) + 16n * BigInt(i % 256);
    return written(
      [
        mmap("/nowhere/a", PAGE(0)),
        ...each(
          n,
          (i) => sample(PAGE(0), { callchain: [0xffff_ffff_ffff_fe00n, at(i), at(i >> 8)] }),
        ),
      ],
      [],
      [event(CHAIN)],
    );
  },
  "events": (n) => {
    const events = each(n, (i) => event(IDENTIFIER, BigInt(1 + i), { config: BigInt(i) }));
    const value = {
      attr_size: 136,
      events: events.map(({ attr, ids }, i) => ({ attr, name: `e${i}`, ids: [...ids] })),
    };
    return written(
      each(n, (i) => ({ ...sample(PAGE(0), { identifier: BigInt(1 + i) }), event: i })),
      [{ id: HEADER_EVENT_DESC, name: "EVENT_DESC", value } as unknown as Feature],
      events,
    );
  },
  "build ids": (n) => {
    const value = each(n, (i) => ({
      ...{ misc: 2, pid: -1, filename: `/nowhere/${i}.so` },
      build_id: new Uint8Array(20).fill(1 + i % 255),
    }));
    return written(
      each(n, (i) => [mmap(`/nowhere/${i}.so`, PAGE(i)), sample(PAGE(i) + 8n)]).flat(),
      [{ id: HEADER_BUILD_ID, name: "BUILD_ID", value } as unknown as Feature],
    );
  },
  "slashes in a name": (n) =>
    written([comm("program"), mmap(`/a${"/".repeat(n)}`, PAGE(0)), sample(PAGE(0) + 8n)]),
  "words of the command": (n) =>
    written([sample(PAGE(0))], [
      {
        id: HEADER_CMDLINE,
        name: "CMDLINE",
        value: { argv: ["perf", ...each(n, (i) => `a${i}`)] },
      },
    ]),
  "formats of tracepoints": (n) =>
    tracepoints(each(n, (i) => format(7 + i, field(`int x${i}`, 0), '"%d", REC->x'))),
  "fields of a tracepoint": (n) =>
    tracepoints([
      format(
        7,
        each(n, (i) => field(`int x${i}`, i)).join(""),
        `"${"%d ".repeat(n)}", ${each(n, (i) => `REC->x${i}`).join(", ")}`,
      ),
    ]),
  "brackets in a tracepoint": (n) =>
    tracepoints([format(7, field(`int x${"[1]".repeat(n)}${"[".repeat(n)}`, 0), '"", 0')]),
  "blanks and letters in a tracepoint": (n) =>
    tracepoints([format(7, field(`int ${"x".repeat(n)}${" ".repeat(n)}!`, 0), '"", 0')]),
  "quotes in a tracepoint": (n) =>
    tracepoints([format(7, field("int x", 0), `"${'\\"'.repeat(n)}`)]),
  "parentheses in a tracepoint": (n) =>
    tracepoints([format(7, field("int x", 0), `"%d", ${"(".repeat(n)}REC->x${")".repeat(n)}`)]),
  "locks of a thread": (n) =>
    schedulerRecording(
      each(n, (i) => ({ time: BigInt(1000 + i), tid: 7, waits: [KERNEL(i), 1], chain: [0x1000n] })),
      { events: ["begin", "end"] },
    ),
  "threads at a lock": (n) =>
    schedulerRecording(
      each(n, (i) => ({ time: BigInt(1000 + i), tid: 7 + i, waits: [8n, 1], chain: [0x1000n] })),
      { events: ["begin", "end"] },
    ),
  "waits for a lock": (n) =>
    schedulerRecording(
      each(n, (i) => {
        const at = { time: BigInt(1000 + i), tid: 7, chain: [0x1000n + 16n * BigInt(i)] };
        return i % 2 === 0 ? { ...at, waits: [8n, 1] as const } : { ...at, got: 8n };
      }),
      { events: ["begin", "end"] },
    ),
  "switches": (n) =>
    schedulerRecording(
      each(n, (i) => {
        const at = { time: BigInt(1000 + i), tid: 7 + i, cpu: i % 64 };
        return i % 2 === 0
          ? { ...at, wakes: 8 + i, chain: [0x1000n] }
          : { ...at, to: [8 + i, 1n] as const, chain: [0x1000n] };
      }),
    ),
};
