import { byteAt, floatAt, shortAt, uintAt } from "@perfdata/format/bytes";
import type { LoadSegment } from "../resolver/address_map.ts";
import { type BundledFile, decodeBundleCode } from "./bundle_code.ts";
import {
  BUILD_ID_BYTES,
  BUNDLE_MAGIC,
  BUNDLE_VERSION,
  bundleChecksum,
  BundleError,
  CAUSES,
  HEADER,
  KINDS,
  MAX_DEPTH,
  SECTIONS,
  SYMBOL_IS_DATA,
} from "./bundle_format.ts";
import { type BundleEntry, BundleObject } from "./bundle_object.ts";
import type { BundleObjectInfo, BundleUnwinding } from "./bundle_writer.ts";
import type { Frame } from "../dwarf/dwarf_context.ts";
import type { ObjectKind } from "../resolver/resolution.ts";
import type { SymbolInfo } from "../table/symbol_table.ts";

type Section = typeof SECTIONS[number]["name"];

const hex = (n: number): string => `0x${n.toString(16)}`;

/** The checked sections of a bundle, for the look-ups of its objects. */
export class BundleTables {
  readonly rangeStart: Float64Array;
  readonly rangeSize: Uint32Array;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #offset: Record<Section, number>;
  readonly #count: Record<Section, number>;
  readonly #text: (string | undefined)[] = [];
  readonly #taken = { segments: 0, ranges: 0, symbols: 0, unwinding: 0 };

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#checkHeader();
    const offsets: Partial<Record<Section, number>> = {};
    const counts: Partial<Record<Section, number>> = {};
    SECTIONS.forEach(({ name, size }, i) => {
      const at = HEADER.SECTIONS + 8 * i;
      const offset = this.#u32(at);
      const count = this.#u32(at + 4);
      if (offset % 8 !== 0 || offset < HEADER.END || offset + count * size > bytes.length) {
        throw new BundleError(
          at,
          `${hex(at)}: section ${name}: ${count} entries of ${size} bytes at ${hex(offset)}, ` +
            `expected them at a multiple of 8 within ${bytes.length} bytes`,
        );
      }
      offsets[name] = offset;
      counts[name] = count;
    });
    this.#offset = offsets as Record<Section, number>;
    this.#count = counts as Record<Section, number>;
    this.#checkStrings();
    this.#checkFunctions();
    this.#checkFrames();
    this.#checkSymbols();
    const ranges = this.#count.ranges;
    this.rangeStart = new Float64Array(ranges);
    this.rangeSize = new Uint32Array(ranges);
    this.#readRanges();
  }

  code(): BundledFile[] {
    return decodeBundleCode(this.#bytes, this.#u32(HEADER.CODE), (number) => {
      if (number < this.#count.strings) return this.#string(number);
      throw new BundleError(HEADER.CODE, `section code: string ${number} is not there`);
    });
  }

  #u32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  #offsetOf(section: Section, index: number, field: number): number {
    const size = SECTIONS.find(({ name }) => name === section)?.size ?? 0;
    return this.#offset[section] + size * index + field;
  }

  #checkHeader(): void {
    const { length } = this.#bytes;
    if (length < HEADER.END || BUNDLE_MAGIC.some((byte, i) => this.#bytes[i] !== byte)) {
      throw new BundleError(0, `0: no symbol bundle: expected PERFSYMS and ${HEADER.END} bytes`);
    }
    const version = this.#u32(HEADER.VERSION);
    if (version !== BUNDLE_VERSION) {
      throw new BundleError(
        HEADER.VERSION,
        `${hex(HEADER.VERSION)}: bundle version ${version}, expected ${BUNDLE_VERSION}`,
      );
    }
    const size = this.#u32(HEADER.SIZE);
    if (size !== length) {
      throw new BundleError(
        Math.min(size, length),
        `${hex(HEADER.SIZE)}: bundle size ${size}, but the file has ${length} bytes`,
      );
    }
    const crc = bundleChecksum(this.#bytes);
    if (this.#u32(HEADER.CRC) !== crc) {
      throw new BundleError(
        HEADER.CRC,
        `${hex(HEADER.CRC)}: checksum ${hex(this.#u32(HEADER.CRC))}, that of the file is ${
          hex(crc)
        }: the bundle is damaged`,
      );
    }
  }

  #long(at: number, what: string): number {
    const value = this.#view.getInt32(at + 4, true) * 2 ** 32 + this.#u32(at);
    if (!Number.isSafeInteger(value)) {
      throw new BundleError(at, `${hex(at)}: ${what}: expected a value of at most 53 bits`);
    }
    return value;
  }

  /** Returns the number at an offset. Throws if it is not below the limit. */
  #below(at: number, limit: number, what: string): number {
    const value = this.#u32(at);
    if (value >= limit) {
      throw new BundleError(at, `${hex(at)}: ${what}: ${value}, expected less than ${limit}`);
    }
    return value;
  }

  #checkStrings(): void {
    const { strings: count } = this.#count;
    const first = this.#offsetOf("strings", 0, 0);
    const room = this.#bytes.length - first - 4 * count;
    if (count === 0) {
      throw new BundleError(first, `${hex(first)}: no strings, expected at least ""`);
    }
    let before = 0;
    for (let i = 0; i < count; i++) {
      const at = first + 4 * i;
      const end = this.#u32(at);
      if (end < before || end > room) {
        throw new BundleError(
          at,
          `${hex(at)}: string ${i} ends at ${end}, expected ${before} to ${room}`,
        );
      }
      before = end;
    }
  }

  #checkFunctions(): void {
    const { functions, strings } = this.#count;
    for (let i = 0; i < functions; i++) {
      const at = this.#offsetOf("functions", i, 0);
      for (let k = 0; k < 12; k += 4) this.#below(at + k, strings, "string of a function");
    }
  }

  #checkFrames(): void {
    const { frames, functions, strings } = this.#count;
    const depth = new Uint16Array(frames + 1);
    for (let i = 0; i < frames; i++) {
      const at = this.#offsetOf("frames", i, 0);
      this.#below(at, functions + 1, "function of a frame");
      this.#below(at + 4, strings, "file of a frame");
      // A caller's row precedes the rows of its callees, so calls cannot form a cycle.
      const caller = this.#below(at + 20, i + 1, "caller of a frame");
      depth[i + 1] = shortAt(depth, caller) + 1;
      if (shortAt(depth, i + 1) > MAX_DEPTH) {
        throw new BundleError(at, `${hex(at)}: more than ${MAX_DEPTH} frames at one address`);
      }
    }
  }

  #checkSymbols(): void {
    const { symbols, functions } = this.#count;
    for (let i = 0; i < symbols; i++) {
      const at = this.#offsetOf("symbols", i, 0);
      const start = this.#long(at, "start of a symbol");
      const size = this.#long(at + 8, "size of a symbol");
      if (size < 0 || !Number.isSafeInteger(start + size)) {
        throw new BundleError(at + 8, `${hex(at + 8)}: size of a symbol: ${size}`);
      }
      const name = this.#u32(at + 16);
      if (name === 0 || name > functions) {
        throw new BundleError(
          at + 16,
          `${hex(at + 16)}: function of a symbol: ${name}, expected 1 to ${functions}`,
        );
      }
      const kind = this.#u32(at + 20);
      if (kind > SYMBOL_IS_DATA) {
        throw new BundleError(at + 20, `${hex(at + 20)}: kind of a symbol: ${kind}`);
      }
    }
  }

  #readRanges(): void {
    const { symbols, frames } = this.#count;
    for (let i = 0; i < this.rangeStart.length; i++) {
      const at = this.#offsetOf("ranges", i, 0);
      this.rangeStart[i] = this.#long(at, "start of a range");
      const size = this.rangeSize[i] = this.#u32(at + 8);
      if (size === 0) throw new BundleError(at + 8, `${hex(at + 8)}: range ${i} is empty`);
      this.#below(at + 12, symbols + 1, "symbol of a range");
      this.#below(at + 16, frames + 1, "frame of a range");
      this.#below(at + 20, CAUSES.length, "cause of a range");
    }
  }

  objects(): BundleObject[] {
    const found: BundleObject[] = [];
    for (let i = 0; i < this.#count.objects; i++) found.push(this.#object(i));
    return found;
  }

  #object(index: number): BundleObject {
    const at = this.#offsetOf("objects", index, 0);
    const bytes = this.#bytes;
    const idSize = byteAt(bytes, at + BUILD_ID_BYTES);
    if (idSize > BUILD_ID_BYTES) {
      throw new BundleError(
        at + BUILD_ID_BYTES,
        `${hex(at + BUILD_ID_BYTES)}: build id of ${idSize} bytes, expected at most 20`,
      );
    }
    const kind: ObjectKind | undefined = KINDS[byteAt(bytes, at + BUILD_ID_BYTES + 1) - 1];
    if (kind === undefined) {
      const where = at + BUILD_ID_BYTES + 1;
      throw new BundleError(
        where,
        `${hex(where)}: kind of object ${bytes[where]}, expected 1 to 6`,
      );
    }
    const { strings } = this.#count;
    const text = (field: number): string =>
      this.#string(this.#below(at + field, strings, "string of an object"));
    const reference = text(28);
    const origin = text(32);
    const [firstSegment, segmentCount] = this.#part(at + 36, "segments");
    const [firstRange, rangeCount] = this.#part(at + 44, "ranges");
    this.#part(at + 52, "symbols");
    for (let i = firstRange + 1; i < firstRange + rangeCount; i++) {
      const before = floatAt(this.rangeStart, i - 1) + uintAt(this.rangeSize, i - 1);
      if (floatAt(this.rangeStart, i) < before) {
        const where = this.#offsetOf("ranges", i, 0);
        throw new BundleError(
          where,
          `${hex(where)}: range ${i} begins before the one before it ends`,
        );
      }
    }
    const segments: LoadSegment[] = [];
    for (let i = firstSegment; i < firstSegment + segmentCount; i++) {
      segments.push({
        offset: this.#long(this.#offsetOf("segments", i, 0), "offset of a segment"),
        size: this.#long(this.#offsetOf("segments", i, 8), "size of a segment"),
        address: this.#long(this.#offsetOf("segments", i, 16), "address of a segment"),
      });
    }
    let buildId = "";
    for (let i = 0; i < idSize; i++) {
      buildId += byteAt(bytes, at + i).toString(16).padStart(2, "0");
    }
    const info: BundleObjectInfo = {
      path: text(24),
      kind,
      ...(buildId === "" ? {} : { buildId }),
      ...(reference === "" ? {} : { reference }),
      ...(origin === "" ? {} : { origin }),
      ...(segments.length === 0 ? {} : { segments }),
    };
    return new BundleObject(this, info, firstRange, rangeCount, this.#unwinding(at));
  }

  #unwinding(at: number): BundleUnwinding | undefined {
    const machine = this.#view.getUint16(at + BUILD_ID_BYTES + 2, true);
    const size = this.#u32(at + 60);
    const first = this.#taken.unwinding;
    if (first + size > this.#count.unwinding) {
      throw new BundleError(
        at + 60,
        `${hex(at + 60)}: ${size} bytes to unwind with, expected at most ` +
          `${this.#count.unwinding - first}`,
      );
    }
    this.#taken.unwinding += size;
    if (machine === 0) return undefined;
    const start = this.#offsetOf("unwinding", first, 0);
    return { machine, section: this.#bytes.subarray(start, start + size) };
  }

  /**
   * First entry and number of entries of an object's part of a section. The parts must follow each
   * other, so no entry is read twice.
   */
  #part(at: number, section: "segments" | "ranges" | "symbols"): [number, number] {
    const first = this.#u32(at);
    const count = this.#u32(at + 4);
    const expected = this.#taken[section];
    if (first !== expected || first + count > this.#count[section]) {
      throw new BundleError(
        at,
        `${hex(at)}: ${count} ${section} from number ${first}, expected them from number ` +
          `${expected}, and there are ${this.#count[section]}`,
      );
    }
    this.#taken[section] += count;
    return [first, count];
  }

  #string(index: number): string {
    let text = this.#text[index];
    if (text === undefined) {
      const ends = this.#offsetOf("strings", 0, 0);
      const bytes = ends + 4 * this.#count.strings;
      const start = index === 0 ? 0 : this.#u32(ends + 4 * (index - 1));
      const end = this.#u32(ends + 4 * index);
      text = new TextDecoder().decode(this.#bytes.subarray(bytes + start, bytes + end));
      this.#text[index] = text;
    }
    return text;
  }

  entry(range: number): BundleEntry {
    const at = this.#offsetOf("ranges", range, 0);
    const symbol = this.#u32(at + 12);
    const start = floatAt(this.rangeStart, range);
    return {
      start,
      end: start + uintAt(this.rangeSize, range),
      symbol: symbol === 0 ? undefined : this.#symbol(symbol - 1),
      frames: this.#frames(this.#u32(at + 16)),
      cause: CAUSES[this.#u32(at + 20)],
    };
  }

  #symbol(index: number): SymbolInfo {
    const at = this.#offsetOf("symbols", index, 0);
    const start = this.#long(at, "start of a symbol");
    const name = this.#u32(this.#offsetOf("functions", this.#u32(at + 16) - 1, 0));
    const end = start + this.#long(at + 8, "size of a symbol");
    const symbol = { name: this.#string(name), start, end };
    return this.#u32(at + 20) === SYMBOL_IS_DATA ? { ...symbol, data: true } : symbol;
  }

  #frames(innermost: number): Frame[] {
    const frames: Frame[] = [];
    for (let id = innermost; id !== 0;) {
      const at = this.#offsetOf("frames", id - 1, 0);
      const name = this.#u32(at);
      const file = this.#u32(at + 4);
      const caller = this.#u32(at + 20);
      frames.push({
        function: name === 0 ? undefined : this.#nameOf(name, 0),
        linkageName: name === 0 ? undefined : this.#nameOf(name, 4),
        file: file === 0 ? undefined : this.#string(file),
        line: this.#u32(at + 8),
        column: this.#u32(at + 12),
        discriminator: this.#u32(at + 16),
        inlined: caller !== 0,
      });
      id = caller;
    }
    return frames;
  }

  #nameOf(id: number, field: number): string | undefined {
    const string = this.#u32(this.#offsetOf("functions", id - 1, field));
    return string === 0 ? undefined : this.#string(string);
  }
}
