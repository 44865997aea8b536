import { type Codec } from "@perfdata/format/struct";
import {
  PERF_SAMPLE_AUX,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
} from "@perfdata/format/perf-event";
import { type PerfEvent } from "@perfdata/format";
import { type ReadLayout, readLayout, SampleFields } from "@perfdata/format/sample-layout";
import { type Piece, piece, putDecimal64, putHex, putHexBytes } from "@perfdata/format/text-bytes";
import { putChain } from "./records_chain.ts";
import type { RecordBytes } from "@perfdata/session/run";
import type { U64Style } from "./records_json.ts";

/** The fields that {@link SampleRest} writes. */
export const REST_FIELDS = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
  PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
  PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
  PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX;

const QUOTE = piece('"');

/** Text before a number and after it. */
interface Slot {
  readonly before: Piece;
  readonly after: Piece;
}

/** Writes the fields of little-endian samples that have no fixed place. */
export class SampleRest {
  readonly #fields: SampleFields;
  readonly #type: number;
  readonly #read: ReadLayout;
  readonly #regsUser: readonly Piece[];
  readonly #regsIntr: readonly Piece[];
  readonly #u64: (name: string) => Slot;

  readonly #slots = new Map<string, Slot>();
  readonly #texts = new Map<string, Piece>();

  /**
   * Prepares for the samples of one event.
   *
   * @param joined Whether whole stacks stand for call chains and copies of stacks.
   */
  constructor(event: PerfEvent, u64: U64Style, joined: boolean = false) {
    const { attr, layout, readFormat } = event;
    this.#fields = new SampleFields(attr);
    this.#type = joined
      ? layout.sampleType & ~PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CALLCHAIN
      : layout.sampleType;
    this.#read = readLayout(readFormat);
    const names = (field: string) => {
      const parts = (event.sample.parts?.[field] as Codec<unknown> | undefined)?.parts;
      return Object.keys(parts?.["regs"]?.parts ?? {}).map((name, i) =>
        piece(`${i === 0 ? "" : '",'}${JSON.stringify(name)}:"0x`)
      );
    };
    this.#regsUser = names("regs_user");
    this.#regsIntr = names("regs_intr");
    const quote = u64 === "string" ? '"' : "";
    this.#u64 = (name) => ({ before: piece(`${name}${quote}`), after: piece(quote) });
  }

  /** Finds the fields of the sample in `[start, end)`; false where they are not as they should. */
  locate(view: DataView, start: number, end: number): boolean {
    return this.#fields.locate(view, start, end, true) && this.#fields.end === end;
  }

  #text(text: string): Piece {
    let found = this.#texts.get(text);
    if (found === undefined) this.#texts.set(text, found = piece(text));
    return found;
  }

  #putDecimal64(view: DataView, at: number, name: string, out: DataView, from: number): number {
    let slot = this.#slots.get(name);
    if (slot === undefined) this.#slots.set(name, slot = this.#u64(name));
    let pos = slot.before.put(out, from);
    pos = putDecimal64(out, pos, view.getInt32(at + 4, true), view.getInt32(at, true));
    return slot.after.put(out, pos);
  }

  #putX64(view: DataView, at: number, name: string, out: DataView, from: number): number {
    const pos = this.#text(name).put(out, from);
    return QUOTE.put(out, putHex(out, pos, view.getInt32(at + 4, true), view.getInt32(at, true)));
  }

  /**
   * Stores the value that was read for the sample's own event, without quotes.
   *
   * @param id Where the sample has its event's id, or -1.
   */
  putCount(view: DataView, id: number, out: DataView, pos: number): number {
    const { group, head, entry, id: idAt } = this.#read;
    let at = this.#fields.read + head;
    if (group) {
      const count = view.getUint32(this.#fields.read, true);
      if (count === 0) return -1;
      if (id >= 0 && idAt >= 0) {
        const own = view.getBigUint64(id, true);
        for (let i = 0; i < count; i++) {
          if (view.getBigUint64(at + entry * i + idAt, true) !== own) continue;
          at += entry * i;
          break;
        }
      }
    }
    return putDecimal64(out, pos, view.getInt32(at + 4, true), view.getInt32(at, true));
  }

  #putRead(view: DataView, out: DataView, from: number): number {
    const { group, time_enabled, time_running, head, entry, id, lost } = this.#read;
    const read = this.#fields.read;
    let pos = this.#text(',"read":{').put(out, from);
    if (time_enabled >= 0) {
      pos = this.#putDecimal64(view, read + time_enabled, '"time_enabled":', out, pos);
      pos = this.#text(",").put(out, pos);
    }
    if (time_running >= 0) {
      pos = this.#putDecimal64(view, read + time_running, '"time_running":', out, pos);
      pos = this.#text(",").put(out, pos);
    }
    pos = this.#text('"values":[').put(out, pos);
    const count = group ? view.getUint32(read, true) : 1;
    for (let i = 0; i < count; i++) {
      const at = read + head + entry * i;
      pos = this.#putDecimal64(view, at, i === 0 ? '{"value":' : ',{"value":', out, pos);
      if (id >= 0) pos = this.#putDecimal64(view, at + id, ',"id":', out, pos);
      if (lost >= 0) pos = this.#putDecimal64(view, at + lost, ',"lost":', out, pos);
      pos = this.#text("}").put(out, pos);
    }
    return this.#text("]}").put(out, pos);
  }

  #putRegs(
    view: DataView,
    abi: number,
    values: number,
    name: string,
    names: readonly Piece[],
    out: DataView,
    from: number,
  ): number {
    let pos = this.#putDecimal64(view, abi, name, out, from);
    if (values >= 0) {
      pos = this.#text(',"regs":{').put(out, pos);
      for (let i = 0; i < names.length; i++) {
        const value = values + 8 * i;
        pos = (names[i] as Piece).put(out, pos);
        pos = putHex(out, pos, view.getInt32(value + 4, true), view.getInt32(value, true));
      }
      pos = (this.#text(names.length > 0 ? '"}' : "}")).put(out, pos);
    }
    return this.#text("}").put(out, pos);
  }

  #putBytes(
    bytes: Uint8Array,
    at: number,
    size: number,
    name: string,
    out: DataView,
    from: number,
  ): number {
    const pos = this.#text(name).put(out, from);
    return QUOTE.put(out, putHexBytes(out, pos, bytes, at, at + size));
  }

  /**
   * Writes the fields of the sample that was located last, in order.
   *
   * @param joined Halves of addresses, of which `[first, last)` stand for the call chain.
   */
  put(
    source: RecordBytes,
    out: DataView,
    from: number,
    joined?: Int32Array,
    first: number = 0,
    last: number = 0,
  ): number {
    const { bytes, view } = source;
    const type = this.#type;
    const fields = this.#fields;
    let pos = from;
    if (type & PERF_SAMPLE_READ) pos = this.#putRead(view, out, pos);
    if (type & PERF_SAMPLE_CALLCHAIN) {
      pos = this.#text(',"callchain":[').put(out, pos);
      const from = fields.callchain >> 2;
      pos = joined === undefined
        ? putChain(source.words, from, from + 2 * fields.callchainLength, out, pos)
        : putChain(joined, 2 * first, 2 * last, out, pos);
    }
    if (type & PERF_SAMPLE_RAW) {
      pos = this.#putBytes(bytes, fields.raw, fields.rawSize, ',"raw":"', out, pos);
    }
    if (type & PERF_SAMPLE_REGS_USER) {
      const name = ',"regs_user":{"abi":';
      pos = this.#putRegs(
        view,
        fields.regsUser,
        fields.regsUserValues,
        name,
        this.#regsUser,
        out,
        pos,
      );
    }
    if (type & PERF_SAMPLE_STACK_USER) {
      const name = ',"stack_user":{"data":"';
      pos = this.#putBytes(bytes, fields.stackUser, fields.stackUserSize, name, out, pos);
      if (fields.stackUserDynSize >= 0) {
        pos = this.#putDecimal64(view, fields.stackUserDynSize, ',"dyn_size":', out, pos);
      }
      pos = this.#text("}").put(out, pos);
    }
    if (type & PERF_SAMPLE_WEIGHT) {
      pos = this.#putDecimal64(view, fields.weight, ',"weight":', out, pos);
    }
    if (type & PERF_SAMPLE_DATA_SRC) {
      pos = this.#putX64(view, fields.dataSrc, ',"data_src":"0x', out, pos);
    }
    if (type & PERF_SAMPLE_TRANSACTION) {
      pos = this.#putX64(view, fields.transaction, ',"transaction":"0x', out, pos);
    }
    if (type & PERF_SAMPLE_REGS_INTR) {
      const name = ',"regs_intr":{"abi":';
      pos = this.#putRegs(
        view,
        fields.regsIntr,
        fields.regsIntrValues,
        name,
        this.#regsIntr,
        out,
        pos,
      );
    }
    if (type & PERF_SAMPLE_PHYS_ADDR) {
      pos = this.#putX64(view, fields.physAddr, ',"phys_addr":"0x', out, pos);
    }
    if (type & PERF_SAMPLE_CGROUP) {
      pos = this.#putDecimal64(view, fields.cgroup, ',"cgroup":', out, pos);
    }
    if (type & PERF_SAMPLE_DATA_PAGE_SIZE) {
      pos = this.#putDecimal64(view, fields.dataPageSize, ',"data_page_size":', out, pos);
    }
    if (type & PERF_SAMPLE_CODE_PAGE_SIZE) {
      pos = this.#putDecimal64(view, fields.codePageSize, ',"code_page_size":', out, pos);
    }
    if (type & PERF_SAMPLE_AUX) {
      pos = this.#putBytes(bytes, fields.aux, fields.auxSize, ',"aux":"', out, pos);
    }
    return pos;
  }
}
