import type { PtCode, PtNames } from "@perfdata/pt/decode";
import {
  BRANCH_WORDS,
  CHAIN_WORDS,
  IP_FLAG,
  type PtSampleRows,
  SAMPLE_WORD,
  SAMPLE_WORDS,
} from "@perfdata/pt";
import type { ByteText } from "@perfdata/format/bytes";
import { addressFromHalves } from "@perfdata/symbols/resolver";
import type { BlockPlaces, BranchBlocks, RecordedBranch, SampleEnd } from "./script_blocks.ts";
import { branchFlags } from "./script_extras.ts";
import type { ScriptField } from "./script_fields.ts";

/** Writes the call chains and branch stacks of synthesized samples in perf's format. */
export class PtListText {
  readonly #code: PtCode;
  readonly #names: PtNames;
  readonly #has: Readonly<Partial<Record<ScriptField, boolean>>>;
  /** Writes the fields after an address: function, object, line. */
  readonly #putEnd: (text: ByteText, place: number) => void;
  readonly #blocks: BranchBlocks | undefined;

  constructor(
    code: PtCode,
    names: PtNames,
    has: Readonly<Partial<Record<ScriptField, boolean>>>,
    putEnd: (text: ByteText, place: number) => void,
    blocks?: BranchBlocks,
  ) {
    this.#blocks = blocks;
    this.#code = code;
    this.#names = names;
    this.#has = has;
    this.#putEnd = putEnd;
  }

  /** Writes the address of a sample and its callers, one line each. */
  chain(text: ByteText, { words, lists }: PtSampleRows, row: number): void {
    const at = row * SAMPLE_WORDS;
    text.byte(0x0a);
    this.#frame(
      text,
      words[at + SAMPLE_WORD.FROM_HI] as number,
      words[at + SAMPLE_WORD.FROM_LO] as number,
      words[at + SAMPLE_WORD.FROM] as number,
    );
    this.callers(text, lists, words[at + SAMPLE_WORD.LISTS] as number);
  }

  /** Writes the callers in the lists at `list`, one line each. Returns their count. */
  callers(text: ByteText, lists: Int32Array, list: number): number {
    const count = lists[list++] as number;
    for (let n = count; n > 0; n--, list += CHAIN_WORDS) {
      this.#frame(
        text,
        lists[list] as number,
        lists[list + 1] as number,
        lists[list + 2] as number,
      );
    }
    return count;
  }

  /** Writes a line: the address in the kernel, the offset in a file. */
  #frame(text: ByteText, hi: number, lo: number, place: number): void {
    text.byte(0x09);
    if (hi < 0 || place < 0) text.hex16(hi, lo);
    else {
      const { places } = this.#code;
      text.hex16(places.hi(place), places.lo(place));
    }
    this.#putEnd(text, place);
    text.byte(0x0a);
  }

  branches(text: ByteText, { words, lists }: PtSampleRows, row: number): void {
    const list = words[row * SAMPLE_WORDS + SAMPLE_WORD.LISTS] as number;
    if (list >= 0) this.branchStack(text, lists, list);
  }

  /** Writes the code between the branches of a row. */
  blocks(text: ByteText, { words, lists }: PtSampleRows, row: number): void {
    const at = row * SAMPLE_WORDS;
    const list = words[at + SAMPLE_WORD.LISTS] as number;
    if (list < 0) return;
    this.#putBlocks(text, lists, list, {
      ip: addressFromHalves(
        words[at + SAMPLE_WORD.FROM_HI] as number,
        words[at + SAMPLE_WORD.FROM_LO] as number,
      ),
      place: words[at + SAMPLE_WORD.FROM] as number,
    });
  }

  /** Writes the code between the branches in the lists at `list`. */
  #putBlocks(text: ByteText, lists: Int32Array, list: number, end: SampleEnd): void {
    const { brstackinsn, brstackinsnlen } = this.#has;
    if (this.#blocks === undefined || !(brstackinsn || brstackinsnlen)) return;
    list += 1 + CHAIN_WORDS * (lists[list] as number);
    const branches: RecordedBranch[] = [];
    for (let n = lists[list++] as number; n > 0; n--, list += BRANCH_WORDS) {
      branches.push({
        from: addressFromHalves(lists[list] as number, lists[list + 1] as number),
        to: addressFromHalves(lists[list + 3] as number, lists[list + 4] as number),
        fromPlace: lists[list + 2] as number,
        toPlace: lists[list + 5] as number,
        flags: recordedFlags(lists[list + 6] as number),
      });
    }
    this.#blocks.put(text, branches, end, brstackinsnlen === true);
  }

  /** Writes the branch stack in the lists at `list`. */
  branchStack(text: ByteText, lists: Int32Array, list: number): void {
    const { brstack, brstacksym, brstackoff } = this.#has;
    if (!(brstack || brstacksym || brstackoff)) return;
    list += 1 + CHAIN_WORDS * (lists[list] as number);
    for (let n = lists[list++] as number; n > 0; n--, list += BRANCH_WORDS) {
      this.#end(text, lists, list, true);
      text.byte(0x2f);
      this.#end(text, lists, list + 3, false);
      text.string(branchFlags(recordedFlags(lists[list + 6] as number)));
    }
  }

  #end(text: ByteText, lists: Int32Array, at: number, isFrom: boolean): void {
    const { brstack, brstacksym, dso } = this.#has;
    const hi = lists[at] as number;
    const lo = lists[at + 1] as number;
    const place = lists[at + 2] as number;
    if (brstacksym && !brstack) {
      const name = this.#names.symbols[place];
      text.string(
        name === undefined
          ? "[unknown]"
          : `${name}+0x${(this.#names.offsets[place] as number).toString(16)}`,
      );
    } else {
      text.string(isFrom ? " 0x" : "0x");
      const { places } = this.#code;
      if (brstack || hi < 0 || place < 0) text.hex(hi, lo);
      else text.hex(places.hi(place), places.lo(place));
    }
    if (dso) text.string(`(${this.#names.perfObject(place)})`);
  }
}

/** Converts a branch's flags to those of a recorded branch stack. */
function recordedFlags(flags: number): number {
  return ((flags & IP_FLAG.IN_TX) !== 0 ? 4 : 0) | ((flags & IP_FLAG.TX_ABORT) !== 0 ? 8 : 0);
}

/** Look-up of a trace's places, for the code between branches. */
export function tracedPlaces({ places }: PtCode, names: PtNames): BlockPlaces {
  return {
    object: (place) => places.objects[places.object(place)],
    address: (place) => places.address(place),
    time: (place) => places.times?.[place] ?? Infinity,
    functionRange(place) {
      const offset = names.offsets[place] ?? -1;
      if (place < 0 || offset < 0) return undefined;
      return { start: places.address(place) - offset, end: names.ends[place] as number };
    },
    putSymbol: (text, place) => text.string(names.symbols[place] ?? "[unknown]"),
  };
}
