import type { Codec } from "@perfdata/format/struct";
import { fixedPeriod } from "@perfdata/format/attr";
import type { PerfEvent } from "@perfdata/format";
import { readLayout } from "@perfdata/format/sample-layout";
import { SampleWalk } from "@perfdata/format/sample-walk";
import { type Piece, piece, putDecimal64, putHex, putHexBytes } from "@perfdata/format/text-bytes";
import type { RecordBytes } from "@perfdata/session/run";
import { ChainText, type LineText } from "./line_text.ts";

/**
 * Writes a value of the sample at `start`, and what leads to it; returns -1 where it is to be
 * decoded. The fields without a fixed place have been located.
 */
export type PutValue = (
  source: RecordBytes,
  start: number,
  out: DataView,
  pos: number,
) => number;

/** A whole stack, which stands for the call chain and for the copy of the stack. */
export interface Stack {
  /** Halves of addresses. */
  words: Int32Array;
  /** The first address. */
  first: number;
  /** The one after the last. */
  end: number;
}

/** Fields that stand at the beginning of a line. */
const HEAD: ReadonlySet<string> = new Set(
  ["ip", "pid", "tid", "cpu", "cpu_reserved", "time", "period"],
);

/** What a value is made with. */
interface Makes {
  readonly line: LineText;
  readonly event: PerfEvent;
  readonly fields: SampleWalk;
}

type Make = (makes: Makes, codec: Codec<unknown>, name: string) => PutValue;

/** Values of several parts, by the types of their declarations. */
const PARTED: Readonly<Record<string, Make>> = {
  read_format: readValue,
  perf_regs: regsValue,
  perf_stack_user: stackValue,
};

/** What makes the value of a field of samples, by its declaration. */
function makerOf({ type, size, shape, display }: Codec<unknown>): Make | undefined {
  if (type === "u64" && size === 8) return numberValue;
  if (shape?.kind === "bytes" && display.as === "bytes") return bytesValue;
  return type === "u64[]" ? chainValue : PARTED[type];
}

/** The fields of an event's samples after the beginning of the line, with what makes their values. */
function partsOf(
  event: PerfEvent,
): [name: string, codec: Codec<unknown>, make: Make | undefined][] {
  return (Object.entries(event.sample.parts ?? {}) as [string, Codec<unknown>][])
    .filter(([name, { shape }]) => !HEAD.has(name) && shape?.kind !== "counter")
    .map(([name, codec]) => [name, codec, makerOf(codec)]);
}

/** Whether all fields of an event's samples are written here. */
export function isWritten(event: PerfEvent): boolean {
  return partsOf(event).every(([, , make]) => make !== undefined);
}

/** A 64-bit value that has a place of its own. */
export interface PlacedValue {
  readonly before: Piece;
  readonly isHex: boolean;
  /** Where it is in the record, in words. */
  readonly word: number;
}

/** What a line has after the time. */
export interface ValuesAfter {
  /** What the event counted, where samples say it. */
  readonly count: PutValue | undefined;
  /** Then what has a place of its own. */
  readonly placed: readonly PlacedValue[];
  /** Then all else. */
  readonly rest: readonly PutValue[];
}

/** Names the members after the time, and makes what writes the values of those that differ. */
export function valuesAfter(
  line: LineText,
  event: PerfEvent,
  fields: SampleWalk,
  stack: Stack | undefined,
): ValuesAfter {
  const { period, identifier, addr, id, stream_id } = event.layout;
  const makes = { line, event, fields };
  const placed: PlacedValue[] = [];
  const place = (offset: number, isHex: boolean) => {
    placed.push({ before: line.value(isHex ? "x" : "u", 8), isHex, word: offset >> 2 });
  };
  const parts = partsOf(event);
  line.member("count");
  const hasCount = parts.some(([name]) => name === "read");
  const count = hasCount ? countValue(makes) : undefined;
  if (!hasCount) line.constant("null");
  line.member("period");
  if (period >= 0) place(period, false);
  else line.whole(fixedPeriod(event.attr));
  const places: Readonly<Record<string, number>> = { identifier, addr, id, stream_id };
  const rest: PutValue[] = [];
  let isJoined = stack === undefined;
  const join = () => {
    if (!isJoined) rest.push(wholeStack(line, stack as Stack));
    isJoined = true;
  };
  for (const [name, codec, make] of parts) {
    const offset = places[name];
    if (offset !== undefined) {
      line.member(name);
      place(offset, codec.display.as === "hex");
      continue;
    }
    // Where a sample has no call chain, the whole stack is after what was read.
    if (name !== "read") join();
    if (stack === undefined || !STACKS.has(name)) rest.push((make as Make)(makes, codec, name));
  }
  join();
  return { count, placed, rest };
}

/** The fields that a whole stack stands for. */
const STACKS: ReadonlySet<string> = new Set(["callchain", "stack_user"]);

/** Writes the word at `at`, and what leads to it. */
function putWord(view: DataView, at: number, before: Piece, out: DataView, pos: number): number {
  pos = before.put(out, pos);
  return putDecimal64(out, pos, view.getInt32(at + 4, true), view.getInt32(at, true));
}

function numberValue(
  { line, fields }: Makes,
  codec: Codec<unknown>,
  name: string,
): PutValue {
  const format = codec.display.as === "hex" ? "x" : "u";
  const { positions } = fields;
  const slot = SampleWalk.slot(name);
  const before = line.member(name).value(format, 8);
  if (format === "u") {
    return ({ view }, _start, out, pos) =>
      putWord(view, positions[slot] as number, before, out, pos);
  }
  return ({ view }, _start, out, pos) => {
    const at = positions[slot] as number;
    pos = before.put(out, pos);
    return putHex(out, pos, view.getInt32(at + 4, true), view.getInt32(at, true));
  };
}

function bytesValue({ line, fields }: Makes, _codec: Codec<unknown>, name: string): PutValue {
  const { positions, counts } = fields;
  const slot = SampleWalk.slot(name);
  const before = line.member(name).value("bytes", 0);
  return ({ bytes }, _start, out, pos) => {
    const at = positions[slot] as number;
    return putHexBytes(out, before.put(out, pos), bytes, at, at + (counts[slot] as number));
  };
}

function chainOf(line: LineText): { before: Piece; chain: ChainText } {
  const before = piece(line.member("callchain").text("[").take());
  return { before, chain: new ChainText(line) };
}

/** The whole stack in place of the call chain. */
function wholeStack(line: LineText, stack: Stack): PutValue {
  const { before, chain } = chainOf(line);
  return (_source, _start, out, pos) =>
    chain.put(stack.words, 2 * stack.first, 2 * stack.end, out, before.put(out, pos));
}

function chainValue({ line, fields }: Makes, _codec: Codec<unknown>, name: string): PutValue {
  const { positions, counts } = fields;
  const slot = SampleWalk.slot(name);
  const { before, chain } = chainOf(line);
  return ({ words }, _start, out, pos) => {
    const at = (positions[slot] as number) >> 2;
    const end = at + 2 * (counts[slot] as number);
    return chain.put(words, at, end, out, before.put(out, pos));
  };
}

/** The value that was read for the sample's own event. */
function countValue({ line, event, fields: { positions } }: Makes): PutValue {
  const { group, head, entry, id } = readLayout(event.readFormat);
  const { layout } = event;
  const slot = SampleWalk.slot("read");
  const own = layout.identifier >= 0 ? layout.identifier : layout.id;
  const before = line.value("u", 8);
  return ({ view }, start, out, pos) => {
    const read = positions[slot] as number;
    let at = read + head;
    if (group) {
      const count = view.getUint32(read, true);
      if (count === 0) return -1;
      if (own >= 0 && id >= 0) {
        const high = view.getInt32(start + own + 4, true), low = view.getInt32(start + own, true);
        for (let i = 0; i < count; i++) {
          const other = at + entry * i + id;
          if (view.getInt32(other, true) !== low || view.getInt32(other + 4, true) !== high) {
            continue;
          }
          at += entry * i;
          break;
        }
      }
    }
    return putWord(view, at, before, out, pos);
  };
}

function readValue({ line, event, fields: { positions } }: Makes): PutValue {
  const { group, time_enabled, time_running, head, entry, id, lost } = readLayout(event.readFormat);
  const slot = SampleWalk.slot("read");
  line.member("read").text("{");
  const word = (name: string) => line.text(`${name}:`).value("u", 8);
  const enabled = time_enabled < 0 ? undefined : word('"time_enabled"');
  if (enabled !== undefined) line.text(",");
  const running = time_running < 0 ? undefined : word('"time_running"');
  if (running !== undefined) line.text(",");
  const before = piece(line.text('"values":[').take());
  // An entry, and what is between two of them.
  const value = word('{"value"');
  const ids = id < 0 ? undefined : word(',"id"');
  const losts = lost < 0 ? undefined : word(',"lost"');
  const after = piece(line.text("}").take());
  const comma = piece(",");
  line.text("]}");
  return ({ view }, _start, out, pos) => {
    const read = positions[slot] as number;
    if (enabled !== undefined) pos = putWord(view, read + time_enabled, enabled, out, pos);
    if (running !== undefined) pos = putWord(view, read + time_running, running, out, pos);
    pos = before.put(out, pos);
    const count = group ? view.getUint32(read, true) : 1;
    for (let i = 0; i < count; i++) {
      const at = read + head + entry * i;
      if (i > 0) pos = comma.put(out, pos);
      pos = putWord(view, at, value, out, pos);
      if (ids !== undefined) pos = putWord(view, at + id, ids, out, pos);
      if (losts !== undefined) pos = putWord(view, at + lost, losts, out, pos);
      pos = after.put(out, pos);
    }
    return pos;
  };
}

function regsValue({ line, fields }: Makes, codec: Codec<unknown>, name: string): PutValue {
  const { positions } = fields;
  const slot = SampleWalk.slot(name);
  const values = SampleWalk.slot(`${name}.regs`);
  const before = line.member(name).text('{"abi":').value("u", 8);
  // Registers are there unless the ABI is none.
  const abiEnd = piece(line.take());
  const names = Object.keys(codec.parts?.["regs"]?.parts ?? {});
  const regs = names.map((reg, i) => {
    line.text(`${i === 0 ? ',"regs":{' : ","}${JSON.stringify(reg)}:`);
    return line.value("x", 8);
  });
  if (names.length === 0) line.text(',"regs":{');
  const regsEnd = piece(line.text("}").take());
  line.text("}");
  return ({ view }, _start, out, pos) => {
    pos = abiEnd.put(out, putWord(view, positions[slot] as number, before, out, pos));
    const first = positions[values] as number;
    if (first < 0) return pos;
    for (let i = 0, at = first; i < regs.length; i++, at += 8) {
      pos = (regs[i] as Piece).put(out, pos);
      pos = putHex(out, pos, view.getInt32(at + 4, true), view.getInt32(at, true));
    }
    return regsEnd.put(out, pos);
  };
}

function stackValue({ line, fields }: Makes, _codec: Codec<unknown>, name: string): PutValue {
  const { positions, counts } = fields;
  const data = SampleWalk.slot(`${name}.data`);
  const dynSize = SampleWalk.slot(`${name}.dyn_size`);
  const before = line.member(name).text('{"data":').value("bytes", 0);
  const dataEnd = piece(line.take());
  const size = line.text(',"dyn_size":').value("u", 8);
  const sizeEnd = piece(line.take());
  line.text("}");
  return ({ view, bytes }, _start, out, pos) => {
    const at = positions[data] as number;
    pos = putHexBytes(out, before.put(out, pos), bytes, at, at + (counts[data] as number));
    pos = dataEnd.put(out, pos);
    const dyn = positions[dynSize] as number;
    return dyn < 0 ? pos : sizeEnd.put(out, putWord(view, dyn, size, out, pos));
  };
}
