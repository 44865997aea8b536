import { PERF_SAMPLE_CALLCHAIN } from "@perfdata/format/perf-event";
import type { Engine } from "@perfdata/session/engine";
import { ByteText } from "./byte_text.ts";
import type { ScriptField } from "./script_fields.ts";
import type { ScriptPlaces } from "./script_places.ts";
import { ROW, ROW_WORDS, type RowBlock, type ScriptRows } from "./script_rows.ts";

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
/** Cached lines of places at most. */
const MOST_LINES = 1 << 18;

/**
 * The samples of a recording as `perf script` prints them: a generator of bytes.
 *
 * @returns How many samples were printed.
 *
 * The text is that of perf 6.1 (tools/perf/builtin-script.c, util/evsel_fprintf.c).
 */
export function* script(
  engine: Engine,
  rows: ScriptRows,
  places: ScriptPlaces,
  options: ScriptOptions,
): Generator<Uint8Array<ArrayBuffer>, number, void> {
  const writer = new ScriptWriter(engine, places, options);
  for (const block of rows.blocks) {
    for (let row = 0; row < block.count; row++) {
      writer.row(block, row);
      if (writer.text.isFull) yield writer.text.take();
    }
  }
  yield writer.text.take();
  return writer.printed;
}

/** How an event's samples are printed. */
interface EventShape {
  readonly fields: ReadonlySet<ScriptField>;
  readonly has: Readonly<Record<ScriptField, boolean>>;
  readonly chain: boolean;
  readonly isTimed: boolean;
  readonly name: Uint8Array;
  /** Whether `addr` is an address that has a symbol (`sample_addr_correlates_sym`). */
  readonly isDataAddress: boolean;
}

class ScriptWriter {
  readonly text = new ByteText();
  /** Samples that were printed. */
  printed = 0;
  readonly #keep: ScriptOptions["keep"];
  readonly #engine: Engine;
  readonly #places: ScriptPlaces;
  readonly #shapes: EventShape[];
  readonly #nanoseconds: boolean;
  readonly #comms = new Map<number, Uint8Array>();
  /** Lines of a call chain by place; one cache is enough, since events of one kind are the rule. */
  readonly #lines = new Map<number, Uint8Array>();
  #linesOf: EventShape | undefined;

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
        name: encoder.encode(`${name.padStart(width)}: `),
        // PERF_TYPE_SOFTWARE: page faults; PERF_TYPE_BREAKPOINT.
        isDataAddress: (attr.type === 1 && [2n, 5n, 6n].includes(attr.config)) || attr.type === 5,
      };
    });
  }

  row(block: RowBlock, row: number): void {
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
    if (has.period) {
      padded(text, block.periods[row] as number, 10);
      text.byte(0x20);
    }
    if (has.event) text.bytes(shape.name);
    if (has.flags) text.string("                        ");
    if (has.addr) this.#address(words, at, shape);
    if (has.ip) this.#ip(words, at, shape);
    if (has.brstack) this.#branches(block, at);
    text.byte(NEWLINE);
  }

  /** All up to the time. */
  #start({ words }: RowBlock, at: number, { has, chain, isTimed }: EventShape): void {
    const { text } = this;
    const tid = words[at + ROW.TID] as number;
    if (has.comm) {
      const comm = words[at + ROW.COMM] as number;
      if (has.ip && chain) {
        text.bytes(this.#comm(comm, tid));
      } else {
        const bytes = this.#comm(comm, tid);
        for (let i = bytes.length; i < 16; i++) text.byte(0x20);
        text.bytes(bytes);
      }
      text.byte(0x20);
    }
    if (has.pid) {
      padded(text, words[at + ROW.PID] as number, 5);
      if (has.tid) {
        text.byte(0x2f);
        text.string(String(tid).padEnd(5));
      }
      text.byte(0x20);
    } else if (has.tid) {
      padded(text, tid, 5);
      text.byte(0x20);
    }
    if (has.cpu) {
      text.byte(0x5b);
      const cpu = words[at + ROW.CPU] as number;
      text.string(cpu < 0 ? `-${String(-cpu).padStart(2, "0")}` : String(cpu).padStart(3, "0"));
      text.byte(0x5d);
      text.byte(0x20);
    }
    if (has.misc) text.string(miscText(words[at + ROW.MISC] as number));
    if (has.time) {
      if (isTimed) this.#time(words[at + ROW.TIME_HI] as number, words[at + ROW.TIME_LO] as number);
      else text.string(this.#nanoseconds ? NO_TIME_NS : NO_TIME);
    }
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
    const rest = time - seconds * 1e9;
    padded(text, seconds, 5);
    text.byte(0x2e);
    if (this.#nanoseconds) zeros(text, rest, 9);
    else zeros(text, Math.floor(rest / 1000), 6);
    text.byte(0x3a);
    text.byte(0x20);
  }

  #address(words: Int32Array, at: number, { has, isDataAddress }: EventShape): void {
    const { text } = this;
    hex16(text, words[at + ROW.ADDR_HI] as number, words[at + ROW.ADDR_LO] as number);
    if (!isDataAddress) return;
    const place = words[at + ROW.ADDR_PLACE] as number;
    if (has.sym) text.string(` ${this.#places.symbol(place, has.symoff === true)}`);
    if (has.dso) text.string(` (${this.#places.dso(place)})`);
  }

  #ip(words: Int32Array, at: number, shape: EventShape): void {
    const { text } = this;
    const { has } = shape;
    const stack = words[at + ROW.STACK] as number;
    if (shape.chain) {
      text.byte(NEWLINE);
      const { parent, place } = this.#engine.stacks;
      for (let node = stack; node >= 0; node = parent[node] as number) {
        text.bytes(this.#line(place[node] as number, shape));
      }
      return;
    }
    const place = words[at + ROW.PLACE] as number;
    text.byte(0x20);
    hex16(text, words[at + ROW.IP_HI] as number, words[at + ROW.IP_LO] as number);
    if (has.sym) text.string(` ${this.#places.symbol(place, has.symoff === true)}`);
    if (has.dso) text.string(` (${this.#places.dso(place)})`);
    if (has.srcline) text.string(this.#sourceLine(place));
  }

  #sourceLine(place: number): string {
    const line = this.#places.line(place);
    return line === "" ? "" : `\n  ${line}`;
  }

  /** The lines of a place in a call chain: what is inlined there, and the function itself. */
  #line(place: number, shape: EventShape): Uint8Array {
    if (this.#linesOf !== shape) {
      this.#lines.clear();
      this.#linesOf = shape;
    }
    let bytes = this.#lines.get(place);
    if (bytes !== undefined) return bytes;
    const { has } = shape;
    const address = `\t${this.#places.chainAddress(place).padStart(16)}`;
    const source = has.srcline ? this.#sourceLine(place) : "";
    let line = "";
    for (const name of this.#places.inlined(place, has.symoff === true)) {
      line += `${address}${has.sym ? ` ${name}` : ""}${source} (inlined)\n`;
    }
    line += address;
    if (has.sym) line += ` ${this.#places.symbol(place, has.symoff === true)}`;
    if (has.dso) line += ` (${this.#places.dso(place)})`;
    bytes = encoder.encode(`${line}${source}\n`);
    if (this.#lines.size < MOST_LINES) this.#lines.set(place, bytes);
    return bytes;
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

/** `branch_type_name` of tools/perf/util/branch.c. */
const BRANCH_TYPES = [
  "",
  "COND",
  "UNCOND",
  "IND",
  "CALL",
  "IND_CALL",
  "RET",
  "SYSCALL",
  "SYSRET",
  "COND_CALL",
  "COND_RET",
  "ERET",
  "IRQ",
  "SERROR",
  "NO_TX",
];

/** `perf_branch_entry`: mispred:1, predicted:1, in_tx:1, abort:1, cycles:16, type:4. */
function branchFlags(_hi: number, lo: number): string {
  const predicted = lo & 1 ? "M" : lo & 2 ? "P" : "-";
  const type = BRANCH_TYPES[lo >>> 20 & 15] ?? "";
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

function hex16(text: ByteText, hi: number, lo: number): void {
  const digits = hexOf(hi, lo);
  for (let i = digits.length; i < 16; i++) text.byte(0x20);
  text.string(digits);
}

function padded(text: ByteText, value: number, width: number): void {
  let digits = value < 0 ? String(value).length : 1;
  if (value >= 0) { for (let power = 10; power <= value; power *= 10) digits++; }
  for (; digits < width; digits++) text.byte(0x20);
  text.number(value);
}

function zeros(text: ByteText, value: number, width: number): void {
  let digits = 1;
  for (let power = 10; power <= value; power *= 10) digits++;
  for (; digits < width; digits++) text.byte(0x30);
  text.number(value);
}
