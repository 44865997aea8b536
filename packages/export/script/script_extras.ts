import {
  dataSourceText,
  pageSizeText,
  PERF_BRANCH_TYPE_NAMES,
  PERF_EVENT_HEADER_SIZE,
  PERF_SAMPLE_WEIGHT_STRUCT,
  perfRegisterName,
} from "@perfdata/format/constants";
import { type PerfEvent, SampleFields } from "@perfdata/format/records";
import { addressFromHalves } from "@perfdata/symbols/resolver";
import type { ByteText } from "@perfdata/format/bytes";
import { isBpfOutput, type ScriptField } from "./script_fields.ts";
import type { BranchBlocks, SampleEnd } from "./script_blocks.ts";
import type { ScriptPlaces } from "./script_places.ts";
import type { ScriptTraces } from "./script_traces.ts";

/** Size of a `perf_branch_entry`: from, to, flags. */
const BRANCH_ENTRY = 24;

/**
 * Writes the fields that need a whole record, in the format of `perf script`
 * (tools/perf/builtin-script.c): those before the sample's address, and those after it.
 */
export class ScriptExtras {
  readonly #event: PerfEvent;
  readonly #has: Readonly<Partial<Record<ScriptField, boolean>>>;
  readonly #le: boolean;
  readonly #fields: SampleFields;
  readonly #traces: ScriptTraces | undefined;
  readonly #places: ScriptPlaces;
  readonly #blocks: BranchBlocks | undefined;
  readonly #counters: ((event: PerfEvent, counters: bigint) => string) | undefined;
  readonly #interrupt: readonly string[];
  readonly #user: readonly string[];
  /** Width of data sources: the longest so far, as in perf. */
  readonly #widths: { dataSource: number };
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(new ArrayBuffer(0));

  constructor(
    event: PerfEvent,
    fields: ReadonlySet<ScriptField>,
    places: ScriptPlaces,
    traces: ScriptTraces | undefined,
    machine: {
      readonly littleEndian: boolean;
      readonly arch: string | undefined;
      readonly widths: { dataSource: number };
      /** Writes the code between branches, if it is printed. */
      readonly blocks: BranchBlocks | undefined;
      /** Formats branch counters, if they are printed. */
      readonly counters?: ((event: PerfEvent, counters: bigint) => string) | undefined;
    },
  ) {
    this.#event = event;
    this.#has = Object.fromEntries([...fields].map((field) => [field, true]));
    this.#fields = new SampleFields(event.attr);
    this.#places = places;
    this.#traces = traces;
    this.#le = machine.littleEndian;
    this.#widths = machine.widths;
    this.#blocks = machine.blocks;
    if (this.#has.brcntr) this.#counters = machine.counters;
    const names = (mask: bigint) => {
      const all: string[] = [];
      for (let bit = 0; mask >> BigInt(bit) !== 0n; bit++) {
        if ((mask >> BigInt(bit) & 1n) !== 0n) all.push(perfRegisterName(machine.arch, bit));
      }
      return all;
    };
    this.#interrupt = names(event.attr.sample_regs_intr);
    this.#user = names(event.attr.sample_regs_user);
  }

  /** Sets the record at `at`. Returns whether it is readable. */
  take(records: Uint8Array, view: DataView, at: number): boolean {
    this.#bytes = records;
    this.#view = view;
    const size = view.getUint16(at + PERF_EVENT_HEADER_SIZE - 2, this.#le);
    return this.#fields.locate(view, at, at + size, this.#le);
  }

  trace(text: ByteText): void {
    const { raw, rawSize } = this.#fields;
    if (!this.#has.trace || raw < 0) return;
    const own = this.#traces?.text(this.#event, this.#bytes, this.#view, raw, raw + rawSize);
    if (own !== undefined) text.bytes(own);
  }

  /** Writes the fields between the data address and the code address. */
  beforeIp(text: ByteText): void {
    const has = this.#has;
    const fields = this.#fields;
    if (has.data_src) {
      const source = this.#u64(fields.dataSrc);
      const all = `${source.toString(16).padStart(16)} ${dataSourceText(source)}`.slice(0, 99);
      this.#widths.dataSource = Math.max(this.#widths.dataSource, all.length);
      text.string(all.padEnd(this.#widths.dataSource));
    }
    // perf_sample_weight: var1_dw, var2_w, var3_w.
    const isStruct = (this.#event.layout.sampleType & PERF_SAMPLE_WEIGHT_STRUCT) !== 0;
    const weight = this.#u64(fields.weight);
    if (has.weight) text.string(String(isStruct ? weight & 0xffff_ffffn : weight).padStart(16));
    if (has.ins_lat) text.string(String(isStruct ? weight >> 32n & 0xffffn : 0n).padStart(16));
    if (has.retire_lat) text.string(String(isStruct ? weight >> 48n : 0n).padStart(16));
  }

  /** Writes the fields after the code address or the call chain. */
  afterIp(text: ByteText, branches: Int32Array, from: number, end: SampleEnd): void {
    const has = this.#has;
    const fields = this.#fields;
    if (has.iregs) this.#registers(text, fields.regsIntr, this.#interrupt);
    if (has.uregs) this.#registers(text, fields.regsUser, this.#user);
    if (fields.branchStack >= 0 && (has.brstack || has.brstacksym || has.brstackoff)) {
      for (let i = 0; i < fields.branchStackLength; i++) this.#branch(text, i, branches, from);
    }
    if (has["bpf-output"] && isBpfOutput(this.#event)) this.#bpfOutput(text);
    if (this.#blocks !== undefined && (has.brstackinsn || has.brstackinsnlen)) {
      this.#putBlocks(this.#blocks, text, branches, from, end);
    }
    if (has.phys_addr) text.string(this.#u64(fields.physAddr).toString(16).padStart(16));
    if (has.data_page_size) text.string(` ${pageSizeText(this.#u64(fields.dataPageSize))}`);
    if (has.code_page_size) text.string(` ${pageSizeText(this.#u64(fields.codePageSize))}`);
  }

  #putBlocks(
    blocks: BranchBlocks,
    text: ByteText,
    places: Int32Array,
    first: number,
    end: SampleEnd,
  ): void {
    const { branchStack, branchStackLength, branchCounters } = this.#fields;
    if (branchStack < 0) return;
    const counters = branchCounters < 0 ? undefined : this.#counters;
    const branches = Array.from({ length: branchStackLength }, (_, i) => {
      const at = branchStack + i * BRANCH_ENTRY;
      const place = (side: number) => first < 0 ? -1 : places[first + 2 * i + side] as number;
      return {
        from: this.#address(at),
        to: this.#address(at + 8),
        fromPlace: place(0),
        toPlace: place(1),
        flags: this.#view.getInt32(at + (this.#le ? 16 : 20), this.#le),
        ...(counters === undefined
          ? {}
          : { counters: counters(this.#event, this.#u64(branchCounters + 8 * i)) }),
      };
    });
    blocks.put(text, branches, end, this.#has.brstackinsnlen === true);
  }

  /** Reads an address as a number; kernel addresses are negative. */
  #address(at: number): number {
    return addressFromHalves(
      this.#view.getInt32(at + (this.#le ? 4 : 0), this.#le),
      this.#view.getInt32(at + (this.#le ? 0 : 4), this.#le),
    );
  }

  #u64(at: number): bigint {
    return at < 0 ? 0n : this.#view.getBigUint64(at, this.#le);
  }

  #registers(text: ByteText, at: number, names: readonly string[]): void {
    if (at < 0) return;
    const abi = this.#u64(at);
    if (abi === 0n) return;
    text.string(` ABI:${abi} `);
    for (const [i, name] of names.entries()) {
      text.string(`${name.padStart(5)}:0x${this.#u64(at + 8 + 8 * i).toString(16)} `);
    }
  }

  #branch(text: ByteText, i: number, branches: Int32Array, first: number): void {
    const { brstack, brstacksym, dso } = this.#has;
    const at = this.#fields.branchStack + i * BRANCH_ENTRY;
    const places = this.#places;
    const put = (side: number) => {
      const place = first < 0 ? -1 : branches[first + 2 * i + side] as number;
      if (brstacksym) {
        if (place < 0) text.string("[unknown]");
        else places.putSymbol(text, place, true);
      } else {
        if (side === 0) text.byte(0x20);
        const address = this.#u64(at + 8 * side);
        text.string(`0x${(brstack ? address : places.branchOffset(place, address)).toString(16)}`);
      }
      if (!dso) return;
      text.byte(0x28);
      text.string(places.dso(place));
      text.byte(0x29);
    };
    put(0);
    text.byte(0x2f);
    put(1);
    const low = this.#view.getInt32(at + (this.#le ? 16 : 20), this.#le);
    text.string(branchFlags(low));
  }

  /**
   * Writes eight bytes per line, in hexadecimal and as text, and the whole data as a string if it
   * is one.
   */
  #bpfOutput(text: ByteText): void {
    const { raw, rawSize } = this.#fields;
    const bytes = raw < 0 ? new Uint8Array(0) : this.#bytes.subarray(raw, raw + rawSize);
    text.byte(0x0a);
    const isPrint = (byte: number) => byte >= 0x20 && byte < 0x7f;
    for (let at = 0; at < bytes.length; at += 8) {
      const line = bytes.subarray(at, at + 8);
      const hex = Array.from(line, (byte) => ` ${byte.toString(16).padStart(2, "0")}`).join("");
      const shown = Array.from(line, (byte) => isPrint(byte) ? String.fromCharCode(byte) : ".");
      text.string((at === 0 ? "BPF output:" : "").padStart(17));
      text.string(
        ` ${at.toString(16).padStart(4, "0")}:${hex.padEnd(24)}  ${shown.join("").padEnd(8)}\n`,
      );
    }
    const nul = bytes.indexOf(0);
    const isText = nul >= 0 && bytes.subarray(0, nul).every(isPrint) &&
      bytes.subarray(nul).every((byte) => byte === 0);
    if (!isText) return;
    text.string(`${"BPF string:".padStart(17)} "`);
    text.bytes(bytes.subarray(0, nul));
    text.string('"\n');
  }
}

/**
 * Formats the flags of a branch as `perf script` does, from the low half of their word in
 * `perf_branch_entry`: mispred:1, predicted:1, in_tx:1, abort:1, cycles:16, type:4.
 */
export function branchFlags(low: number): string {
  const predicted = low & 2 ? "P" : low & 1 ? "M" : "-";
  const type = PERF_BRANCH_TYPE_NAMES[low >>> 20 & 15] ?? "";
  const cycles = low >>> 4 & 0xffff;
  return `/${predicted}/${low & 4 ? "X" : "-"}/${low & 8 ? "A" : "-"}/${cycles}/${type} `;
}
