import {
  eventName,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_SAMPLE,
  USER_RECORD_NAMES,
} from "@perfdata/format/constants";
import {
  fixedPeriod,
  KERNEL_RECORDS,
  type PerfDataReader,
  type PerfEvent,
  RecordCodec,
} from "@perfdata/format/records";
import { ByteText, floatAt, intAt, LITTLE_ENDIAN } from "@perfdata/format/bytes";
import { GOOGLE_RECORDS, USER_RECORDS } from "@perfdata/user-records";
import {
  askAgain,
  type AskedNames,
  type Engine,
  type Needs,
  type Run,
  runEngine,
  SentTests,
  type SentWords,
} from "@perfdata/session";
import type { TextConsumer, WriteText } from "@perfdata/session/workers";
import { CSV_COLUMNS, type LineStyle, LineText } from "./line_text.ts";
import { BLOCK } from "./records_bytes.ts";
import {
  type AnyDecoded,
  type AnyRecordCodec,
  FieldTree,
  lineMembers,
  meantSample,
  type Members,
} from "./records_json.ts";
import { LinePlan, type Stack } from "./line_plan.ts";
import type { RecordsOptions } from "./records.ts";
import type { RecordFilter } from "./record_filter.ts";
import { asksMachine, RecordChoice, type SentName } from "./records_choice.ts";
import { RecordMore } from "./records_symbols.ts";

const CODEC: AnyRecordCodec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
const GOOGLE_CODEC: AnyRecordCodec = new RecordCodec([...KERNEL_RECORDS, ...GOOGLE_RECORDS]);

/** Limit of cached plans. */
const MOST_PLANS = 4096;

const WANTED = 1;
const UNWANTED = 2;

/** The options that can be sent to another thread. */
export type RecordsAbout =
  & Pick<RecordsOptions, "format" | "u64" | "types" | "from" | "order" | "fields">
  & {
    readonly filter?: RecordFilter | undefined;
    /** Filters by name. */
    readonly words?: SentWords<SentName> | undefined;
  };

/** Result of another thread. */
export interface RecordsPart {
  readonly count: number;
  /** The count of tracepoint samples without fields, because their raw data is too short. */
  readonly cut: number;
  /** Names that its filters tested. */
  readonly asked: AskedNames<SentName> | undefined;
}

/** Creates the writer of windows' lines. */
export function makeRecords(
  reader: PerfDataReader,
  { filter, words, ...about }: RecordsAbout,
  write: WriteText,
): TextConsumer {
  const sent = words && new SentTests(words);
  const options = {
    ...about,
    ...(filter === undefined && sent === undefined
      ? {}
      : { filter: { ...filter, ...sent?.tests } }),
  };
  return new RecordsText(reader, write, { ...options, diagnostics: () => {} }, sent);
}

/** Converts records to lines. */
export class RecordsText implements TextConsumer<RecordsPart> {
  readonly out: ByteText = new ByteText();
  readonly #reader: PerfDataReader;
  readonly #options: RecordsOptions;
  readonly #style: LineStyle;
  /** Current names of the events. */
  #names: readonly string[] = [];
  readonly #tree = new FieldTree();
  /** Plans by type, `misc` and event; null if records are decoded. */
  readonly #plans = new Map<number, LinePlan | null>();
  /** By type: WANTED, UNWANTED, or 0 if unknown. */
  readonly #wanted = new Uint8Array(256);
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  readonly #write: (block: Uint8Array) => void;
  /** Whether samples are written without decoding, if possible. */
  readonly #fast: boolean;
  readonly #live: boolean;
  readonly needs: Needs;
  readonly #first: number;
  /** Writes the members that depend on the machine and symbols, in time order. */
  readonly #more: RecordMore | undefined;
  /** The current sample's whole stack, if it replaces the call chain. */
  readonly #stack: Stack | undefined;
  /** The filter, if there is one. */
  readonly #choice: RecordChoice | undefined;
  /** Number of lines that may still be written. */
  #left: number;
  /** Number of written lines. */
  count: number = 0;
  /** The count of such samples in other threads. */
  #cutElsewhere = 0;
  #engine: Engine | undefined;
  readonly #sent: SentTests<SentName> | undefined;

  constructor(
    reader: PerfDataReader,
    write: (block: Uint8Array) => void,
    options: RecordsOptions,
    sent?: SentTests<SentName>,
  ) {
    this.#sent = sent;
    this.#reader = reader;
    this.#write = write;
    this.#options = options;
    this.littleEndian = reader.littleEndian;
    const isCsv = options.format === "csv";
    this.#style = { u64: options.u64 ?? "number", isCsv };
    this.#fast = reader.littleEndian && LITTLE_ENDIAN;
    this.#live = reader.fileSize === undefined;
    const { symbols, unwind } = options;
    const resolves = symbols !== undefined;
    const machine = isTimeOrdered(options);
    const joined = unwind !== undefined;
    this.#stack = unwind && { words: new Int32Array(0), first: 0, end: 0 };
    const choice = options.filter && new RecordChoice(options.filter, reader.littleEndian);
    this.#choice = choice;
    if (choice?.bySymbol === true && options.symbols === undefined) {
      throw new TypeError("records: a filter by function needs symbols");
    }
    const { fields = false } = options;
    this.#more = machine || fields
      ? new RecordMore({ comm: machine, fields, symbols, joined, isCsv, choice })
      : undefined;
    const places = resolves || choice?.byPlace === true;
    this.needs = { machine, places, chains: resolves, joined };
    this.#first = options.from ?? 0;
    this.#left = options.limit ?? Infinity;
  }

  async run(): Promise<Engine> {
    this.begin();
    const { unwind, jit, stitchLbr, inflate, progress, diagnostics } = this.#options;
    return await runEngine(this.#reader, [this], {
      order: isTimeOrdered(this.#options) ? "time" : "file",
      unwind,
      jit,
      stitchLbr,
      inflate,
      progress,
      diagnostics,
    });
  }

  /** Writes the header row of CSV. */
  begin(): void {
    if (this.#style.isCsv) this.out.string(`${CSV_COLUMNS.join(",")}\r\n`);
  }

  get #codec(): AnyRecordCodec {
    return this.#reader.isGoogleDialect ? GOOGLE_CODEC : CODEC;
  }

  #typeName(type: number): string {
    const known = this.#codec.declaration(type)?.name;
    return known ?? USER_RECORD_NAMES[type] ?? `TYPE_${type}`;
  }

  #isWanted(type: number): boolean {
    const known = this.#wanted[type];
    if (known !== undefined && known !== 0) return known === WANTED;
    const { types, inflate } = this.#options;
    const carrier = inflate !== false && !this.#reader.isGoogleDialect &&
      (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2);
    const wanted = types === undefined ? !carrier : types.has(this.#typeName(type));
    if (known !== undefined) this.#wanted[type] = wanted ? WANTED : UNWANTED;
    return wanted;
  }

  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    this.#choice?.start(engine);
    this.#names = engine.eventNames;
    await this.#more?.start(engine);
  }

  async described(): Promise<void> {
    await this.#more?.described();
    this.#plans.clear();
  }

  rows(run: Run): void {
    const { count } = run;
    this.#rename((this.#engine as Engine).eventNames);
    for (let row = 0; row < count && this.#left > 0; row++) this.#record(run, row);
  }

  done(): boolean {
    // Write the lines of a batch before awaiting the next one, for readers of a live stream.
    if (this.#live) this.flush();
    return this.#left <= 0;
  }

  async settle(): Promise<void> {
    if (this.#more?.waits !== true) return;
    const chosen = await this.#more.settle(this.out, this.#line, this.#write, this.#left);
    // Other lines were counted when they were written.
    if (this.#more.chooses) this.#counted(chosen);
  }

  async finish(): Promise<void> {
    await this.settle();
    this.flush();
  }

  part(): RecordsPart {
    return { count: this.count, cut: this.cut, asked: this.#sent?.asked() };
  }

  /** The count of tracepoint samples without fields, because their raw data is too short. */
  get cut(): number {
    return (this.#more?.cut ?? 0) + this.#cutElsewhere;
  }

  join({ count, cut, asked }: RecordsPart): void {
    this.count += count;
    this.#cutElsewhere += cut;
    if (asked !== undefined) askAgain(this.#options.filter ?? {}, asked);
  }

  /** Writes a record's line if the record is selected. */
  #record(run: Run, row: number): void {
    const offset = floatAt(run.offset, row);
    const type = intAt(run.type, row) >>> 0;
    if (offset < this.#first || !this.#isWanted(type)) return;
    if (this.#choice?.passes(run, row, this.#eventName) === false) return;
    if (this.#more?.chooses !== true) {
      if (this.#more?.isFunction(intAt(run.place, row)) === false) return;
      this.#counted(1);
    }
    this.#put(run, row);
  }

  readonly #eventName = (index: number): string =>
    this.#names[index] ?? eventName((this.#reader.events.all[index] as PerfEvent).attr);

  /** Sets the names of events if one of them changed. */
  #rename(names: readonly string[]): void {
    const known = this.#names;
    if (names.length === known.length && names.every((name, i) => name === known[i])) return;
    this.#names = names;
    this.#plans.clear();
    this.#choice?.renamed();
  }

  #counted(lines: number): void {
    this.count += lines;
    this.#left -= lines;
  }

  #put(run: Run, row: number): void {
    const at = run.at(row);
    const start = intAt(run.start, row);
    const end = intAt(run.end, row);
    const offset = floatAt(run.offset, row);
    const event = intAt(run.event, row);
    const type = intAt(run.type, row) >>> 0;
    const { out } = this;
    const from = out.length;
    const isSample = type === PERF_RECORD_SAMPLE;
    const stack = isSample ? this.#stack : undefined;
    let written = -1;
    // Damaged samples have no whole stack.
    const isPlanned = this.#fast && ((start | end) & 7) === 0 &&
      (stack === undefined || intAt(run.thread, row) >= 0);
    const plan = isPlanned ? this.#plan(type, intAt(run.misc, row), event) : null;
    if (plan !== null) {
      let room = plan.bound(end - start);
      if (stack !== undefined) {
        stack.words = run.chainWords;
        stack.first = intAt(run.chainStart, row);
        stack.end = intAt(run.chainStart, row + 1);
        room += 24 * (stack.end - stack.first);
      }
      written = plan.write(at, start, end, offset, out.reserve(room), out.length);
      if (written >= 0 && isSample && this.#more?.firstOf(event) !== undefined) {
        out.length = written;
        this.#more.put(out, run, row, from);
        written = out.length;
      }
    }
    if (written >= 0) out.length = written;
    else this.#writeDecoded(run, row, at.bytes.subarray(start, end));
    if (out.length >= BLOCK && this.#more?.waits !== true) this.flush();
  }

  flush(): void {
    if (this.out.length > 0) this.#write(this.out.lend());
  }

  #plan(type: number, misc: number, event: number): LinePlan | null {
    if (type > 0xff || event > 0xfff) return null;
    const key = (event + 1) * 0x100_0000 + type * 0x1_0000 + misc;
    const known = this.#plans.get(key);
    if (known !== undefined) return known;
    const declaration = this.#codec.declaration(type);
    const plan = declaration && LinePlan.create(declaration, {
      event: this.#reader.events.all[event],
      eventName: type === PERF_RECORD_SAMPLE && event >= 0 ? this.#eventName(event) : "",
      misc,
      style: this.#style,
      next: this.#more?.firstOf(event),
      stack: this.#stack,
    });
    // A damaged file may have any number of kinds.
    if (this.#plans.size >= MOST_PLANS) this.#plans.clear();
    this.#plans.set(key, plan ?? null);
    return plan ?? null;
  }

  #writeDecoded(run: Run, row: number, bytes: Uint8Array): void {
    const { littleEndian } = this;
    const event = intAt(run.event, row);
    const type = intAt(run.type, row) >>> 0;
    const offset = floatAt(run.offset, row);
    const tree = this.#tree;
    tree.clear();
    const found = this.#reader.events.all[event];
    const record = this.#codec.decode(bytes, {
      littleEndian,
      event: found,
      offset,
      trace: tree,
    }) as AnyDecoded;
    const isSample = type === PERF_RECORD_SAMPLE && found !== undefined;
    const members = lineMembers(record, tree, {
      period: isSample ? fixedPeriod(found.attr) : undefined,
      meant: isSample
        ? meantSample(
          found,
          run.at(row).view,
          intAt(run.start, row),
          intAt(run.end, row),
          littleEndian,
        )
        : undefined,
      name: this.#typeName(type),
      offset,
      event: isSample ? this.#eventName(event) : undefined,
      littleEndian,
      u64: this.#style.u64,
    });
    if (isSample && this.#more !== undefined) {
      if (this.#stack !== undefined && intAt(run.thread, row) >= 0) {
        joinChain(members, run, row);
      }
      if (!this.#more.add(this.out, members, run, row)) return;
    }
    this.out.string(this.#line(members));
  }

  readonly #line = (members: Members): string => {
    const line = new LineText(this.#style);
    for (const [name, json] of members) line.member(name).constant(json);
    return line.finish().take();
  };
}

/** Whether records are in time order, which gives the mappings at their time. */
export function isTimeOrdered({ order, symbols, unwind, filter = {} }: RecordsOptions): boolean {
  return order === "time" || symbols !== undefined || unwind !== undefined || asksMachine(filter);
}

/** Puts the whole stack into the call chain, and removes the fields that it was made from. */
function joinChain(members: Members, run: Run, row: number): void {
  const words = new BigUint64Array(
    run.chainWords.slice(
      2 * intAt(run.chainStart, row),
      2 * intAt(run.chainStart, row + 1),
    )
      .buffer,
  );
  const json = `[${Array.from(words, (word) => `"0x${word.toString(16)}"`).join(",")}]`;
  const stack = members.findIndex(([name]) => name === "stack_user");
  if (stack >= 0) members.splice(stack, 1);
  const chain = members.find(([name]) => name === "callchain");
  if (chain !== undefined) chain[1] = json;
  else members.push(["callchain", json]);
}
