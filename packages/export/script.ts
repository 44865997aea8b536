import { PERF_BRANCH_TYPE_NAMES, PERF_SAMPLE_CALLCHAIN } from "@perfdata/format/perf-event";
import type { Engine } from "@perfdata/session/engine";
import { ByteText, TextPool } from "./byte_text.ts";
import type { ScriptField } from "./script_fields.ts";
import type { ScriptPlaces } from "./script_places.ts";
import { ROW, ROW_WORDS, type RowBlock } from "./script_rows.ts";

/** How {@linkcode script} writes. */
export interface ScriptOptions {
  /** Fields by number of the event. */
  readonly fields: readonly ReadonlySet<ScriptField>[];
  /** Whether a sample is printed, by its command and its place (-1 where it has none). */
  readonly keep?: (comm: string, place: number) => boolean;
  /** `false` prints no call chains (`-G`). */
  readonly chains?: boolean;
  /** Whether times have nanoseconds (`--ns`). */
  readonly nanoseconds?: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** What perf prints where a sample has no time: all ones. */
const NO_TIME = "18446744073.709551: ";
const NO_TIME_NS = "18446744073.709551615: ";
const NEWLINE = 0x0a;

/** How an event's samples are printed. */
interface EventShape {
  readonly fields: ReadonlySet<ScriptField>;
  readonly has: Readonly<Record<ScriptField, boolean>>;
  readonly chain: boolean;
  readonly isTimed: boolean;
  readonly name: string;
  /** Whether `addr` is an address that has a symbol (`sample_addr_correlates_sym`). */
  readonly isDataAddress: boolean;
  /** The thread of the last sample, with the number of its text. */
  tid: number;
  comm: number;
  pid: number;
  thread: number;
  /** The period of the last sample, and the text of it and of the event. */
  period: number;
  middle: Uint8Array;
}

/**
 * Writes samples as `perf script` prints them: the text is that of perf 6.1
 * (tools/perf/builtin-script.c, util/evsel_fprintf.c).
 */
export class ScriptWriter {
  /** What was written and not yet taken. */
  readonly text: ByteText = new ByteText();
  /** Samples that were printed. */
  printed: number = 0;
  /** Where {@linkcode ScriptWriter.until} goes on. */
  #nextBlock = 0;
  #nextRow = 0;
  readonly #keep: ScriptOptions["keep"];
  readonly #engine: Engine;
  readonly #places: ScriptPlaces;
  readonly #shapes: EventShape[];
  readonly #nanoseconds: boolean;
  readonly #comms = new Map<number, Uint8Array>();
  readonly #cpus = new Map<number, Uint8Array>();
  readonly #threads = new TextPool();
  readonly #threadNumbers = new Map<string, number>();
  /** Lines of call chains, and their numbers by place: for events of one kind, which is the rule. */
  #pool = new TextPool();
  #lines = new Int32Array(0);
  readonly #scratch = new ByteText();
  #linesOf: EventShape | undefined;
  #seconds = -1;
  #secondsText: Uint8Array = new Uint8Array(0);

  /**
   * Begins with nothing.
   *
   * @param engine The pass that the rows are of.
   * @param places Names of its places, or of the same places in a pass before.
   */
  constructor(engine: Engine, places: ScriptPlaces, options: ScriptOptions) {
    this.#engine = engine;
    this.#places = places;
    this.#nanoseconds = options.nanoseconds === true;
    this.#keep = options.keep;
    const { eventNames } = engine;
    const width = Math.max(0, ...eventNames.map((name) => name.length));
    this.#shapes = engine.reader.events.all.map(({ attr, layout }, number) => {
      const fields = options.fields[number] ?? new Set();
      const has = Object.fromEntries([...fields].map((field) => [field, true]));
      const name = eventNames[number] ?? "[unknown]";
      return {
        fields,
        has: has as EventShape["has"],
        chain: options.chains !== false && (layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0,
        isTimed: layout.time >= 0,
        name: `${name.padStart(width)}: `,
        tid: NaN,
        comm: NaN,
        pid: NaN,
        thread: 0,
        period: NaN,
        middle: new Uint8Array(0),
        // PERF_TYPE_SOFTWARE: page faults; PERF_TYPE_BREAKPOINT.
        isDataAddress: (attr.type === 1 && [2n, 5n, 6n].includes(attr.config)) || attr.type === 5,
      };
    });
  }

  /** Writes the samples of a block, and hands on what is enough for a chunk. */
  block(block: RowBlock, out: (bytes: Uint8Array) => void): void {
    for (let row = 0; row < block.count; row++) {
      this.#row(block, row);
      if (this.text.isFull) out(this.text.take());
    }
  }

  /**
   * Writes samples of `blocks` up to a time, from where the call before stopped.
   *
   * @returns When the next one is, ns; Infinity after the last.
   */
  until(blocks: readonly RowBlock[], ns: number, out: (bytes: Uint8Array) => void): number {
    for (;;) {
      const block = blocks[this.#nextBlock];
      if (block === undefined) return Infinity;
      if (this.#nextRow >= block.count) {
        this.#nextBlock++;
        this.#nextRow = 0;
        continue;
      }
      const at = this.#nextRow * ROW_WORDS;
      const time = ((block.words[at + ROW.TIME_HI] as number) >>> 0) * 2 ** 32 +
        ((block.words[at + ROW.TIME_LO] as number) >>> 0);
      if (time > ns) return time;
      this.#row(block, this.#nextRow++);
      if (this.text.isFull) out(this.text.take());
    }
  }

  #row(block: RowBlock, row: number): void {
    const { words } = block;
    const at = row * ROW_WORDS;
    const shape = this.#shapes[words[at + ROW.EVENT] as number];
    if (shape === undefined || shape.fields.size === 0) return;
    if (this.#keep !== undefined) {
      const comm = this.#comm(words[at + ROW.COMM] as number, words[at + ROW.TID] as number);
      if (!this.#keep(decoder.decode(comm), words[at + ROW.PLACE] as number)) return;
    }
    this.printed++;
    const { text } = this;
    const { has } = shape;
    this.#start(block, at, shape);
    this.#periodAndEvent(block.periods[row] as number, shape);
    if (has.flags) text.string("                        ");
    if (has.addr) this.#address(words, at, shape);
    if (has.ip) this.#ip(words, at, shape);
    if (has.brstack) this.#branches(block, at);
    text.byte(NEWLINE);
  }

  /** All up to the time. */
  #start({ words }: RowBlock, at: number, shape: EventShape): void {
    const { text } = this;
    const { has, isTimed } = shape;
    const tid = words[at + ROW.TID] as number;
    const comm = words[at + ROW.COMM] as number;
    const pid = has.pid ? words[at + ROW.PID] as number : 0;
    // Samples of a thread mostly follow each other.
    if (tid !== shape.tid || comm !== shape.comm || pid !== shape.pid) {
      shape.tid = tid;
      shape.comm = comm;
      shape.pid = pid;
      shape.thread = this.#threadText(shape);
    }
    text.pooled(this.#threads, shape.thread);
    if (has.cpu) text.bytes(this.#cpu(words[at + ROW.CPU] as number));
    if (has.misc) text.string(miscText(words[at + ROW.MISC] as number));
    if (has.time) {
      if (isTimed) this.#time(words[at + ROW.TIME_HI] as number, words[at + ROW.TIME_LO] as number);
      else text.string(this.#nanoseconds ? NO_TIME_NS : NO_TIME);
    }
  }

  /** Number of the text of comm, pid and tid. */
  #threadText({ has, chain, comm, pid, tid }: EventShape): number {
    const key = `${has.ip && chain} ${comm} ${pid} ${tid}`;
    let number = this.#threadNumbers.get(key);
    if (number !== undefined) return number;
    const text = this.#scratch;
    if (has.comm) {
      const bytes = this.#comm(comm, tid);
      if (!(has.ip && chain)) { for (let i = bytes.length; i < 16; i++) text.byte(0x20); }
      text.bytes(bytes);
      text.byte(0x20);
    }
    if (has.pid) text.string(String(pid).padStart(5) + (has.tid ? "/" : " "));
    if (has.tid) text.string(has.pid ? `${String(tid).padEnd(5)} ` : `${String(tid).padStart(5)} `);
    number = this.#threads.add(text.take());
    this.#threadNumbers.set(key, number);
    return number;
  }

  #periodAndEvent(period: number, shape: EventShape): void {
    if (period !== shape.period) {
      shape.period = period;
      let line = shape.has.period ? `${String(period).padStart(10)} ` : "";
      if (shape.has.event) line += shape.name;
      shape.middle = encoder.encode(line);
    }
    this.text.bytes(shape.middle);
  }

  #cpu(cpu: number): Uint8Array {
    let bytes = this.#cpus.get(cpu);
    if (bytes === undefined) {
      const digits = cpu < 0 ? `-${String(-cpu).padStart(2, "0")}` : String(cpu).padStart(3, "0");
      this.#cpus.set(cpu, bytes = encoder.encode(`[${digits}] `));
    }
    return bytes;
  }

  #comm(comm: number, tid: number): Uint8Array {
    if (comm < 0) return encoder.encode(tid < 0 ? ":-1" : `:${tid}`);
    let bytes = this.#comms.get(comm);
    if (bytes === undefined) {
      bytes = this.#engine.names.get(comm).slice();
      this.#comms.set(comm, bytes);
    }
    return bytes;
  }

  #time(hi: number, lo: number): void {
    const { text } = this;
    const time = (hi >>> 0) * 2 ** 32 + (lo >>> 0);
    const seconds = Math.floor(time / 1e9);
    if (seconds !== this.#seconds) {
      this.#seconds = seconds;
      this.#secondsText = encoder.encode(`${String(seconds).padStart(5)}.`);
    }
    text.bytes(this.#secondsText);
    const rest = time - seconds * 1e9;
    if (this.#nanoseconds) text.zeros(rest, 9);
    else text.zeros(Math.floor(rest / 1000), 6);
    text.byte(0x3a);
    text.byte(0x20);
  }

  #address(words: Int32Array, at: number, { has, isDataAddress }: EventShape): void {
    const { text } = this;
    text.hex16(words[at + ROW.ADDR_HI] as number, words[at + ROW.ADDR_LO] as number);
    if (!isDataAddress) return;
    const place = words[at + ROW.ADDR_PLACE] as number;
    if (has.sym) text.string(` ${this.#places.symbol(place, has.symoff === true)}`);
    if (has.dso) text.string(` (${this.#places.dso(place)})`);
  }

  #ip(words: Int32Array, at: number, shape: EventShape): void {
    const { text } = this;
    if (this.#linesOf !== shape) {
      this.#linesOf = shape;
      this.#pool = new TextPool();
      this.#lines.fill(-1);
    }
    const stack = words[at + ROW.STACK] as number;
    if (shape.chain) {
      text.byte(NEWLINE);
      const { parent, place } = this.#engine.stacks;
      for (let node = stack; node >= 0; node = parent[node] as number) {
        text.pooled(this.#pool, this.#line(place[node] as number, shape, true));
      }
      return;
    }
    text.byte(0x20);
    text.hex16(words[at + ROW.IP_HI] as number, words[at + ROW.IP_LO] as number);
    text.pooled(this.#pool, this.#line(words[at + ROW.PLACE] as number, shape, false));
  }

  #sourceLine(place: number): string {
    const line = this.#places.line(place);
    return line === "" ? "" : `\n  ${line}`;
  }

  /** Number of the text of a place: its lines in a call chain, or what follows an address. */
  #line(place: number, shape: EventShape, inChain: boolean): number {
    if (place + 1 >= this.#lines.length) {
      const lines = new Int32Array(Math.max(this.#lines.length * 2, place + 2)).fill(-1);
      lines.set(this.#lines);
      this.#lines = lines;
    }
    const known = this.#lines[place + 1] as number;
    if (known >= 0) return known;
    const bytes = inChain ? this.#lineBytes(place, shape) : this.#end(place, shape);
    return this.#lines[place + 1] = this.#pool.add(inChain ? bytes : bytes.subarray(0, -1));
  }

  #end(place: number, { has }: EventShape): Uint8Array {
    let line = "";
    if (has.sym) line += ` ${this.#places.symbol(place, has.symoff === true)}`;
    if (has.dso) line += ` (${this.#places.dso(place)})`;
    if (has.srcline) line += this.#sourceLine(place);
    return encoder.encode(`${line}\n`);
  }

  #lineBytes(place: number, shape: EventShape): Uint8Array {
    const { has } = shape;
    const start = this.#scratch;
    const source = has.srcline ? this.#sourceLine(place) : "";
    const put = () => {
      start.byte(0x09);
      this.#places.putChainAddress(start, place);
    };
    for (const name of this.#places.inlined(place, has.symoff === true)) {
      put();
      start.string(`${has.sym ? ` ${name}` : ""}${source} (inlined)\n`);
    }
    put();
    start.bytes(this.#end(place, shape));
    return start.take();
  }

  #branches({ words, branches }: RowBlock, at: number): void {
    const from = words[at + ROW.BRANCHES] as number;
    if (from < 0) return;
    const count = branches[from] as number;
    for (let i = 0; i < count; i++) {
      const [fromHi, fromLo, toHi, toLo, flagsHi, flagsLo] = branches.subarray(
        from + 1 + i * 6,
      ) as unknown as [number, number, number, number, number, number];
      this.text.string(
        ` 0x${hexOf(fromHi, fromLo)}/0x${hexOf(toHi, toLo)}${branchFlags(flagsHi, flagsLo)} `,
      );
    }
  }
}

/** `perf_branch_entry`: mispred:1, predicted:1, in_tx:1, abort:1, cycles:16, type:4. */
function branchFlags(_hi: number, lo: number): string {
  const predicted = lo & 1 ? "M" : lo & 2 ? "P" : "-";
  const type = PERF_BRANCH_TYPE_NAMES[lo >>> 20 & 15] ?? "";
  return `/${predicted}/${lo & 4 ? "X" : "-"}/${lo & 8 ? "A" : "-"}/${lo >>> 4 & 0xffff}/${type}`;
}

/** `PERF_RECORD_MISC_*` of a sample as letters. */
function miscText(misc: number): string {
  const mode = misc & 7;
  const text = ["", "K", "U", "H", "G", "g"][mode] ?? "";
  return text + " ".repeat(Math.max(1, 6 - text.length));
}

function hexOf(hi: number, lo: number): string {
  return hi === 0
    ? (lo >>> 0).toString(16)
    : (hi >>> 0).toString(16) + (lo >>> 0).toString(16).padStart(8, "0");
}
