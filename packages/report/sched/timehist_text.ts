import {
  decimalDigits,
  OVERSHOOT,
  putAscii,
  putBytes,
  putDecimal,
  putDecimal4,
  putDecimal64,
  restOfSeconds,
  visible,
  wholeSeconds,
} from "@perfdata/format/bytes";
import type { Timehist, TimehistLoss, TimehistRow } from "./timehist.ts";

/** The lines above the rows. */
const HEAD = `\
           time    cpu  task name                       wait time  sch delay   run time
                        [tid/pid]                          (msec)     (msec)     (msec)
--------------- ------  ------------------------------  ---------  ---------  ---------
`;

/** Size at which text is written. */
const ENOUGH = 1 << 16;
/** Largest size of a row without its thread's cell. */
const MOST = 512;
const BLANK = 0x20;
const DOT = 0x2e;

/** Common text of a thread's rows. */
interface Cell {
  readonly name: number;
  readonly pid: number;
  /** Text between the brackets; for JSON, from the name to the process. */
  readonly bytes: Uint8Array;
  readonly width: number;
}

/**
 * Formats rows as bytes: as a table in the format of `perf sched timehist`, or as JSON. A name
 * longer than the column widens it from then on, as in perf.
 *
 * @example
 * ```ts
 * import { TimehistText } from "@perfdata/report/contention";
 * import { assertEquals } from "@std/assert";
 *
 * const names = { comm: () => "sh", baseHi: 0, baseLo: 1_500_000_000 };
 * let text = "";
 * const lines = new TimehistText(names, { json: false }, (bytes) => {
 *   text += new TextDecoder().decode(bytes);
 * });
 * const row = { time: 999, cpu: 1, name: 0, isIdle: false, tid: 8, pid: 7, wait: 2500, delay: 0, run: 1 };
 * lines.take(row);
 * lines.flush();
 * assertEquals(text.split("\n")[3]?.slice(0, 34), "       1.500000 [0001]  sh[8/7]   ");
 * ```
 */
export class TimehistText {
  readonly #names: Pick<Timehist, "comm" | "baseHi" | "baseLo">;
  readonly #isJson: boolean;
  readonly #write: (bytes: Uint8Array) => void;
  readonly #encoder = new TextEncoder();
  /** Cell of each thread's last row. */
  readonly #cells = new Map<number, Cell>();
  #idle: Cell | undefined;
  #bytes = new Uint8Array(ENOUGH + MOST);
  #out = new DataView(this.#bytes.buffer);
  #end = 0;
  #width = 30;
  #isFirst = true;
  /** Time of the first event: whole seconds, and remaining ns. */
  #seconds = -1;
  #rest = 0;

  /** Creates the writer. `write` receives bytes that are only valid during the call. */
  constructor(
    names: Pick<Timehist, "comm" | "baseHi" | "baseLo">,
    { json }: { readonly json: boolean },
    write: (bytes: Uint8Array) => void,
  ) {
    this.#names = names;
    this.#isJson = json;
    this.#write = write;
  }

  /** Writes the buffered text. */
  flush(): void {
    if (this.#end > 0) this.#write(this.#bytes.subarray(0, this.#end));
    this.#end = 0;
  }

  /** Formats a row. */
  take(row: TimehistRow): void {
    const cell = this.#cell(row);
    this.#reserve(Math.max(cell.bytes.length, this.#width));
    this.#end = this.#isJson ? this.#json(row, cell) : this.#line(row, cell);
    if (this.#end >= ENOUGH) this.flush();
  }

  /** Formats a loss between the rows. JSON has only rows. */
  lost({ time, cpu, records }: TimehistLoss): void {
    if (this.#isJson) return;
    this.#reserve(0);
    const out = this.#out;
    const p = putAscii(out, this.#moment(this.#head(this.#end), time), " lost ");
    this.#end = putAscii(out, p, `${records} events on cpu ${cpu}\n`);
  }

  /** Makes room for a line with a cell of this width. */
  #reserve(width: number): void {
    const room = MOST + width + OVERSHOOT;
    if (this.#end + room <= this.#bytes.length) return;
    this.flush();
    if (room <= this.#bytes.length) return;
    this.#bytes = new Uint8Array(2 * room);
    this.#out = new DataView(this.#bytes.buffer);
  }

  /** Writes the lines above the rows, once. */
  #head(p: number): number {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    return isFirst ? putAscii(this.#out, p, HEAD) : p;
  }

  #line({ time, cpu, wait, delay, run }: TimehistRow, { bytes, width }: Cell): number {
    const out = this.#out;
    let p = this.#moment(this.#head(this.#end), time);
    out.setUint16(p, 0x205b);
    p = cpu >= 0 && cpu < 10_000 ? putDecimal4(out, p + 2, cpu) : putDecimal(out, p + 2, cpu);
    out.setUint8(p++, 0x5d);
    out.setUint16(p, 0x2020);
    p = putBytes(out, p + 2, bytes);
    if (width > this.#width) this.#width = width;
    for (let k = this.#width - width; k > 0; k--) out.setUint8(p++, BLANK);
    p = putMs(out, p, wait);
    p = putMs(out, p, delay);
    p = putMs(out, p, run);
    out.setUint16(p, 0x200a);
    return p + 2;
  }

  /** Writes seconds with six decimals, in 15 columns. */
  #moment(p: number, time: number): number {
    const out = this.#out;
    if (this.#seconds < 0) {
      const { baseHi, baseLo } = this.#names;
      this.#seconds = wholeSeconds(baseHi, baseLo);
      this.#rest = restOfSeconds(baseLo, this.#seconds);
    }
    const ns = this.#rest + time;
    const more = Math.floor(ns / 1e9);
    const us = Math.floor((ns - more * 1e9) / 1000);
    const seconds = this.#seconds + more;
    for (let k = 8 - digitsOf(seconds); k > 0; k--) out.setUint8(p++, BLANK);
    p = putDecimal(out, p, seconds);
    out.setUint8(p, DOT);
    return putSix(out, p + 1, us);
  }

  #json({ time, cpu, wait, delay, run }: TimehistRow, { bytes }: Cell): number {
    const out = this.#out;
    const { baseHi, baseLo } = this.#names;
    // Halves are added separately, which keeps all digits.
    const high = Math.floor(time / 2 ** 32);
    const low = baseLo + (time - high * 2 ** 32);
    const carry = low >= 2 ** 32 ? 1 : 0;
    let p = putAscii(out, this.#end, '{"time":');
    p = putDecimal64(out, p, baseHi + high + carry, low - carry * 2 ** 32);
    p = putDecimal(out, putAscii(out, p, ',"cpu":'), cpu);
    p = putBytes(out, p, bytes);
    p = putDecimal(out, putAscii(out, p, ',"wait":'), wait);
    p = putDecimal(out, putAscii(out, p, ',"delay":'), delay);
    p = putDecimal(out, putAscii(out, p, ',"run":'), run);
    return putAscii(out, p, "}\n");
  }

  #cell(row: TimehistRow): Cell {
    const { name, isIdle, tid, pid } = row;
    const known = isIdle ? this.#idle : this.#cells.get(tid);
    if (known !== undefined && known.name === name && known.pid === pid) return known;
    const comm = this.#names.comm(row);
    const text = this.#isJson
      ? `,"comm":${JSON.stringify(comm)},"tid":${tid},"pid":${pid}`
      : isIdle
      ? comm
      : `${visible(comm)}[${tid === pid ? tid : `${tid}/${pid}`}]`;
    const cell = { name, pid, bytes: this.#encoder.encode(text), width: text.length };
    if (isIdle) this.#idle = cell;
    else this.#cells.set(tid, cell);
    return cell;
  }
}

/** Writes a blank, and ns as ms with three decimals, in ten columns. */
function putMs(out: DataView, p: number, ns: number): number {
  const us = Math.floor(ns / 1000);
  const whole = Math.floor(us / 1000);
  out.setUint8(p++, BLANK);
  for (let k = 6 - digitsOf(whole); k > 0; k--) out.setUint8(p++, BLANK);
  p = putDecimal(out, p, whole);
  // The first of four digits is 0, and is overwritten by the point.
  putDecimal4(out, p, us - whole * 1000);
  out.setUint8(p, DOT);
  return p + 4;
}

/** Writes six digits of a number below a million. */
function putSix(out: DataView, p: number, n: number): number {
  const low = n % 10_000;
  const high = (n - low) / 10_000;
  out.setUint8(p, 0x30 + (high / 10 | 0));
  out.setUint8(p + 1, 0x30 + high % 10);
  return putDecimal4(out, p + 2, low);
}

function digitsOf(n: number): number {
  return n < 2 ** 32 ? decimalDigits(n) : String(n).length;
}
