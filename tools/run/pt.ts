/** Runs `pt`. */
import {
  decodePt,
  type DecodePtOptions,
  EventTimes,
  type FunctionTime,
  functionTimes,
  type JoinedPtCalls,
  latencyJson,
  latencyLines,
  ofCpus,
  packetsText,
  parseAround,
  PtCalls,
  type PtCounts,
  PtList,
  PtNames,
  type PtTrace,
  type PtWorkers,
  rowLines,
  shortObject,
  snapshotsText,
  tracePart,
  type TracePartChoice,
} from "@perfdata/pt/decode";
import { alignedRows } from "@perfdata/format/bytes";
import {
  aboutAsync,
  asInput,
  asUsage,
  complain,
  InputError,
  oneFile,
  Progress,
  writeOut,
} from "../shared/cli.ts";
import { parseLength, parseTime } from "../shared/time_flag.ts";
import { parseNumbers } from "../shared/sample_flags.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { resolverOf } from "../shared/symbol_flags.ts";
import { writeTable } from "../shared/styled.ts";
import { markedName } from "@perfdata/profile";
import { whyNothing } from "../shared/nothing.ts";
import { parseCount, parseJobs } from "../shared/record_flags.ts";
import { insnText } from "../shared/insn_text.ts";
import { codeOf, imagesOf, namedImages, openPt, reportLoss } from "../shared/pt_input.ts";
import { type PtAbout, ptJobs, ptRows, ptWorkers } from "../shared/pt_workers.ts";
import type { FLAGS } from "../pt.ts";

/** Bits of the event's `config`: tracing enabled, and branch tracing enabled. */
const PT_ONLY = 0x1n;
const PT_AND_BRANCH = 0x2001n;

/** Lines that are gathered before each write. */
const BLOCK = 2048;
/** Maximum width of a column of the function table. */
const WIDEST = 60;

/** Output lines, written in blocks. */
class Lines {
  #lines: string[] = [];

  put(line: string): void {
    if (this.#lines.push(line) === BLOCK) this.flush();
  }

  all(lines: Iterable<string>): void {
    for (const line of lines) this.put(line);
  }

  flush(): void {
    if (this.#lines.length > 0) writeTable(this.#lines.join("\n") + "\n");
    this.#lines = [];
  }
}

function functionTable(rows: readonly FunctionTime[], timed: boolean): string[] {
  const self = rows.reduce((sum, row) => sum + row.self, 0);
  const insns = rows.reduce((sum, row) => sum + row.insns, 0);
  const ms = (ns: number) => timed ? (ns / 1e6).toFixed(3) : "-";
  const clocked = rows.some((row) => row.cycles !== undefined);
  const head = ["SHARE", "SELF ms", "TOTAL ms", "CALLS", "INSNS", ...(clocked ? ["IPC"] : [])];
  const cells = [[...head, "FUNCTION", "OBJECT"]];
  for (const row of rows) {
    const share = self > 0 ? row.self / self : row.insns / Math.max(1, insns);
    cells.push([
      `${(100 * share).toFixed(2)}%`,
      ms(row.self),
      row.calls === 0 ? "-" : ms(row.total),
      String(row.calls),
      String(row.insns),
      ...(clocked ? [row.cycles ? (row.insns / row.cycles).toFixed(2) : "-"] : []),
      markedName(row),
      shortObject({ path: row.object }),
    ]);
  }
  return alignedRows(cells, (column) => column >= head.length, WIDEST);
}

type PtFlags = FlagsOf<typeof FLAGS>;

/** The parsed flags. */
interface Question {
  readonly flags: PtFlags;
  readonly name: string;
  /** The lists to print. Empty for calls and the function table. */
  readonly lists: readonly string[];
  readonly wish: TracePartChoice;
  readonly tids: ReturnType<typeof parseNumbers> | undefined;
  readonly cpus: ReturnType<typeof parseNumbers> | undefined;
  readonly limit: number | undefined;
  readonly jobs: number | undefined;
  /** Print only functions with these names. */
  readonly filter: ReadonlySet<string> | undefined;
}

/** Parses the flags that select a part of the trace. */
function partWish(
  last: string | undefined,
  { time, around }: Readonly<Record<"time" | "around", string | undefined>>,
): TracePartChoice {
  return {
    time: time === undefined ? undefined : parseTime(time),
    last: last === undefined ? undefined : parseLength("last", last),
    around: around === undefined ? undefined : asUsage(() => parseAround(around), "--around is "),
  };
}

/**
 * Parses the flags.
 *
 * @throws {UsageError} If flags exclude each other.
 */
function questionOf(flags: PtFlags): Question {
  const { on, value, operands } = flags;
  const modes = (["calls", "branches", "insns", "events", "errors"] as const)
    .filter((mode) => on[mode]);
  const lists = modes.filter((mode) => mode !== "calls");
  const wish = partWish(on.replay ? undefined : value.last, value);
  const tids = value.tid === undefined ? undefined : parseNumbers("tid", value.tid);
  const cpus = value.cpu === undefined ? undefined : parseNumbers("cpu", value.cpu);
  const limit = parseCount("limit", value.limit);
  const jobs = parseJobs(value.jobs);
  const filter = value.function === undefined ? undefined : new Set(value.function.split(","));
  return { flags, name: oneFile(operands), lists, wish, tids, cpus, limit, jobs, filter };
}

/** An open recording, and its decoding options. */
interface Trace {
  readonly trace: PtTrace;
  readonly names: PtNames;
  /** The threads and times to decode. */
  readonly part: NonNullable<NonNullable<ConstructorParameters<typeof PtCalls>[1]>["filter"]>;
  /** Whether only the part is decoded. With `--time`, calls also need the trace before the part. */
  readonly isShort: boolean;
  /** Whether `--last` or `--around` selects a part of the time. */
  readonly isPart: boolean;
  readonly options: DecodePtOptions;
  readonly progress: Progress;
  readonly lines: Lines;
}

/** Starts the worker threads that decode the recording together with this thread. */
function workersFor(
  { name, flags, cpus }: Question,
  { part, progress }: Trace,
  threads: number,
  by: PtAbout["by"],
): PtWorkers {
  const { image, "guest-image": guestImage } = flags.value;
  const about = { name, flags, image, guestImage, filter: part, cpus, by };
  return ptWorkers(threads, about, progress.add);
}

/** The result of a view. */
interface Answer {
  readonly counts: PtCounts;
  readonly printed: number;
  /** Remarks that are printed after the rows. */
  readonly notes: readonly string[];
}

/** Prints functions that packets alone show, without code. */
async function ofPackets(
  { flags: { on }, limit }: Question,
  { trace, names, part, options, lines }: Trace,
): Promise<Answer> {
  const { packetLines } = await import("../shared/pt_packets.ts");
  const found = await packetLines({
    ...{ trace, names, options, limit },
    ...{ filter: part, json: on.json },
  });
  lines.all(found.lines);
  return { counts: found.counts, printed: found.lines.length, notes: [found.note] };
}

/** Prints lists of branches, instructions, events or errors. */
async function listed(question: Question, opened: Trace): Promise<Answer> {
  const { flags: { on }, name, cpus, jobs, filter } = question;
  const { trace, names, part, options, lines } = opened;
  const { branches, insns, events, errors, json, source: withSource } = on;
  const list = { branches, insns, events, errors, json, source: withSource, only: filter };
  const text = insns ? await insnText("pt") : undefined;
  // A short part, or decoding of packets alone, is too little work to share among threads.
  const isAlone = part.from !== undefined || on.packets;
  const threads = isAlone ? 1 : ptJobs(name, jobs, opened.trace.bytes, branches || insns);
  const wants = ofCpus(cpus);
  if (threads > 1) {
    const { joinList, listWhole } = await import("@perfdata/pt/decode");
    const joined = await joinList(
      listWhole({ trace, wants }, names, { ...list, text, filter: part }),
      workersFor(question, opened, threads, { list }),
      list,
      writeOut,
    );
    if (joined !== undefined) {
      await names.resolve();
      names.limitTo(joined.met);
      return { counts: joined.counts, printed: joined.rows, notes: [] };
    }
  }
  let printed = 0;
  const rows: PtList = new PtList(trace, {
    ...list,
    text,
    filter: part,
    idle: async () => {
      await names.resolve();
      printed += rows.rows.count;
      lines.all(rowLines(rows.rows, names, rows.texts, list));
      rows.rows.clear();
    },
  });
  const counts = await decodePt(trace, rows, options);
  return { counts, printed, notes: on.packets ? [packetsText(counts)] : [] };
}

/** Prints all calls, in the order in which threads made them. */
async function ofCalls(question: Question, opened: Trace): Promise<Answer> {
  const { flags, name, cpus, jobs, filter } = question;
  const { on } = flags;
  const { trace, names, part, options } = opened;
  const cycles = trace.aux.intelPtConfig?.cyc === true;
  const { callWhole, listCalls } = await import("@perfdata/pt/decode");
  const writer = on.json
    ? new (await import("@perfdata/export/traces")).CallJson(names, { filter, cycles })
    : new (await import("@perfdata/export/traces")).CallText(names, filter);
  let printed = 0;
  const by = "events";
  const wants = ofCpus(cpus);
  // Workers cannot read a pipe, and a short part is too little work to share.
  const threads = opened.isShort ? 1 : ptJobs(name, jobs, opened.trace.bytes);
  const { counts, met } = await listCalls(
    callWhole({ trace, filter: part, wants, ...ptRows(names, by) }),
    threads === 1 ? undefined : workersFor(question, opened, threads, by),
    options,
    (events) => {
      printed += events.count;
      writer.rows(events, writeOut);
    },
  );
  if (met !== undefined) names.limitTo(met);
  writeOut(writer.text.take());
  return { counts, printed, notes: [] };
}

/** Prints a summary of calls: by function, or the latencies of one function. */
async function summed(question: Question, opened: Trace): Promise<Answer> {
  const { flags, name, cpus, limit, jobs, filter } = question;
  const { on, value } = flags;
  const { trace, names, part, options, progress, lines } = opened;
  const { clock } = trace;
  const by = value.latency === undefined ? "functions" : { name: value.latency };
  const { rows } = ptRows(names, by);
  const wants = ofCpus(cpus);
  // Workers cannot read a pipe, and a short part is too little work to share.
  const threads = opened.isShort ? 1 : ptJobs(name, jobs, opened.trace.bytes);
  let joined: JoinedPtCalls | undefined;
  if (threads > 1) {
    const { callWhole, joinCalls } = await import("@perfdata/pt/decode");
    joined = await joinCalls(
      callWhole({ trace, filter: part, rows, wants }),
      workersFor(question, opened, threads, by),
    );
  }
  const calls: PtCalls = joined?.calls ?? new PtCalls(trace, { filter: part, rows });
  const counts = joined?.counts ??
    await decodePt(trace, calls, options);
  if (joined === undefined) calls.finish();
  else names.limitTo(calls.met);
  await names.resolve();
  if (value.latency !== undefined) {
    const stats = calls.latency.of(0);
    if (stats === undefined) {
      progress.finish();
      throw new InputError(`${name}: no call of ${value.latency} was traced`);
    }
    const called = { name: value.latency, ...names.trustOf(value.latency) };
    if (on.json) lines.put(latencyJson(called, stats, clock.origin));
    else lines.all(latencyLines(markedName(called), stats, clock.origin));
    return { counts, printed: 1, notes: [] };
  }
  const { branches, insns, addresses } = counts;
  if (branches === 0 && insns === 0 && addresses > 0 && filter === undefined) {
    const { printed, notes } = await ofPackets(question, opened);
    // The counts of the first pass report the branches that could not be followed without code.
    return {
      counts,
      printed,
      notes: ["no code is at hand: this is what packets alone say", ...notes],
    };
  }
  const found = functionTimes(calls, names, trace.aux.intelPtConfig?.cyc === true)
    .filter((row) => filter?.has(row.name) ?? true).slice(0, limit ?? Infinity);
  if (on.json) lines.all(found.map((row) => JSON.stringify(row)));
  else if (found.length > 0) lines.all(functionTable(found, clock.known));
  return { counts, printed: found.length, notes: [] };
}

/** Prints the reason why there are no rows. */
async function reportNothing(
  { flags, name, lists }: Question,
  { trace: { aux, code } }: Trace,
): Promise<void> {
  const { on, value } = flags;
  const { config = 0n } = aux.intelPtConfig ?? {};
  if ((config & PT_AND_BRANCH) === PT_ONLY && !on.events) {
    complain(`pt: ${name}: recorded with branch=0: it has no flow; see pt --events`);
    return;
  }
  const { cpu, tid, time, function: called } = value;
  const filters = { cpu, tid, time };
  const isChosen = Object.values(filters).some((filter) => filter !== undefined);
  const why = isChosen || called === undefined
    ? isChosen ? `: ${await whyNothing(name, filters)}` : ""
    : `: --function ${called} matches nothing`;
  const isNone = why === "" && on.errors && lists.length === 1;
  const way = code.missing.size > 0 && !on.packets ? "; --packets needs no code" : "";
  complain(`pt: ${name}: ${isNone ? "no errors" : `nothing to print${why}${way}`}`);
}

export async function run(flags: PtFlags): Promise<number> {
  const question = questionOf(flags);
  const { name, lists, wish, tids, cpus, filter } = question;
  const { on, value } = flags;
  return await aboutAsync(name, async () => {
    const events = new EventTimes();
    const guest = namedImages("guest-image", value["guest-image"]);
    const { trace, complaints } = await openPt("pt", name, {
      code: (recorded) => codeOf(recorded, value, imagesOf(value.image, name), guest),
      consumers: value.around === undefined && value.at === undefined ? [] : [events],
    });
    const resolver = await resolverOf(flags, name, {
      machine: trace.engine.recorded,
      parameters: false,
      debugInformation: on.source || on.replay,
    });
    const names = new PtNames(trace.code, resolver);
    const flag = wish.time !== undefined ? "time" : wish.last !== undefined ? "last" : "around";
    const { note, ...times } = await asInput(
      () => tracePart(wish, trace, events),
      `${name}: --${flag}: `,
    );
    const isPart = note !== undefined;
    const isShort = isPart || lists.length > 0 || on.packets;
    const progress = new Progress("pt", trace.bytes);
    const options: DecodePtOptions = {
      ...(on.packets ? { quick: 1 } : {}),
      ...(isShort ? times : {}),
      progress: progress.add,
      wants: ofCpus(cpus),
    };
    const lines = new Lines();
    const traced: Trace = {
      ...{ trace, names, isShort, isPart, options, progress, lines },
      part: { tids, ...times },
    };
    const replayed = async (): Promise<Answer> =>
      await (await import("../shared/pt_replay.ts")).replaySteps({
        ...{
          trace,
          names,
          events,
          flags,
          name,
          tids,
          wants: ofCpus(cpus),
          put: (line) => lines.put(line),
        },
      });
    const answer = on.replay
      ? replayed
      : lists.length > 0
      ? listed
      : on.packets
      ? ofPackets
      : on.calls
      ? ofCalls
      : summed;
    const { counts, printed, notes } = await answer(question, traced);
    progress.finish();
    lines.flush();
    const unknown = [...filter ?? []].filter((wanted) => !names.names.includes(wanted));
    if (printed > 0 && unknown.length > 0) {
      complain(`pt: ${name}: --function: ${unknown.join(", ")}: no such function ran`);
    }
    names.close();
    const taken = snapshotsText(trace);
    const snapshots = taken && `${taken}; --around snapshot:1 prints what ran before one`;
    for (const text of [snapshots, note, ...notes]) {
      if (text !== undefined) complain(`pt: ${name}: ${text}`);
    }
    if (printed === 0) await reportNothing(question, traced);
    return reportLoss("pt", name, { counts, trace, names, complaints });
  });
}
