import {
  type BlockCache,
  InsnKind,
  isRealCall,
  offsetIn,
  type PathTable,
} from "@perfdata/intel-pt";
import { enlarge } from "@perfdata/format/bytes";
import { addressFromHalves } from "@perfdata/symbols/resolver";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";
import { PENDING } from "./pt_call_stack.ts";

/** Distances from the end of a call to its opcode: E8, or FF of an indirect call by kind of operand. */
const DIRECT_CALL = 5;
const INDIRECT_CALLS = [2, 3, 4, 6, 7];

/** Kinds of paths: not examined yet, without calls and returns, with some. */
const PATH = { NEW: 0, PLAIN: 1, CALLS: 2 } as const;
/** Whether a call may be before a block: not examined yet, no, yes. */
const AFTER_CALL = { NEW: 0, NO: 1, YES: 2 } as const;

/**
 * Properties of blocks and paths for following calls. Each block and path is examined once, as long
 * as its number is valid.
 */
export class CallBlocks {
  /** The place of each block, or -1; set when a path with the block is examined. */
  place: Int32Array = new Int32Array(0);
  /** The end of each block: {@linkcode PENDING}; set when a path with the block is examined. */
  end: Uint8Array = new Uint8Array(0);
  /** 1 for each place that was executed since {@linkcode CallBlocks.takeMet}. */
  met: Uint8Array = new Uint8Array(1024);
  #metPlaces: number[] = [];

  readonly #code: PtCode;
  #pathKind = new Uint8Array(0);
  #afterCall = new Uint8Array(0);
  /** Index of the call at the end of each block, + 1; 0 if unknown. */
  #site = new Int32Array(0);
  /** Index of the call by return address, for jumps that end frames (longjmp). */
  readonly #sites = new Map<number, number>();
  readonly #siteAddress: number[] = [];
  #blocks: BlockCache | undefined;
  #paths: PathTable | undefined;

  /** Starts without blocks. */
  constructor(code: PtCode) {
    this.#code = code;
  }

  /** Makes room for all blocks and paths of a decoder. */
  use(blocks: BlockCache, paths: PathTable): void {
    this.#blocks = blocks;
    this.#paths = paths;
    if (this.place.length < blocks.count) {
      const places = new Int32Array(2 * blocks.count).fill(-1);
      places.set(this.place);
      this.place = places;
      this.end = enlarge(this.end, places.length);
      this.#site = enlarge(this.#site, places.length);
      this.#afterCall = enlarge(this.#afterCall, places.length);
    }
    if (this.#pathKind.length < paths.count) {
      this.#pathKind = enlarge(this.#pathKind, paths.count);
    }
  }

  /** The blocks of the decoder; only after {@linkcode CallBlocks.use}. */
  get blocks(): BlockCache {
    return this.#blocks as BlockCache;
  }

  /** The paths of the decoder; only after {@linkcode CallBlocks.use}. */
  get paths(): PathTable {
    return this.#paths as PathTable;
  }

  get places(): number {
    return this.#code.places.count;
  }

  /**
   * Clears everything by index of a block or path, because these indices are about to be reused.
   */
  forget(): void {
    this.place.fill(-1);
    this.#site.fill(0);
    this.#afterCall.fill(AFTER_CALL.NEW);
    this.#pathKind.fill(PATH.NEW);
  }

  /** Returns the executed places and clears them, including those of known paths. */
  takeMet(): Int32Array<ArrayBuffer> {
    const places = this.#metPlaces;
    this.#metPlaces = [];
    for (const place of places) this.met[place] = 0;
    this.#pathKind.fill(PATH.NEW);
    return Int32Array.from(places);
  }

  /** Whether a path has calls or returns. */
  hasCalls(code: ThreadCode, path: number): boolean {
    const kind = this.#pathKind[path];
    return (kind === PATH.NEW ? this.#lookAt(code, path) : kind) === PATH.CALLS;
  }

  #lookAt(code: ThreadCode, path: number): number {
    const { blocks, paths: { start, blocks: of } } = this;
    let kind: number = PATH.PLAIN;
    for (const block of of.subarray(start[path], start[path + 1])) {
      this.meet(this.placeOf(code, block));
      const end = this.end[block] = pendingOf(blocks, block);
      if (end !== PENDING.NONE) kind = PATH.CALLS;
    }
    return this.#pathKind[path] = kind;
  }

  /** Sets the end of a block, without the rest of its path. */
  lookAtBlock(block: number): void {
    this.end[block] = pendingOf(this.blocks, block);
  }

  /** Marks a place as executed. */
  meet(place: number): void {
    if (place >= this.met.length) this.met = enlarge(this.met, place + 1);
    if (this.met[place] === 1) return;
    this.met[place] = 1;
    this.#metPlaces.push(place);
  }

  /** The place of an address, which is marked as executed. */
  placeAt(code: ThreadCode, low: number, high: number): number {
    const place = this.#code.place(code, low, high);
    this.meet(place);
    return place;
  }

  placeOf(code: ThreadCode, block: number): number {
    const known = this.place[block] as number;
    if (known >= 0) return known;
    const { low, high } = this.blocks;
    return this.place[block] = this.placeAt(code, low[block] as number, high[block] as number);
  }

  /** Index of the call at the end of a block (-1 if unknown), which returns to an address. */
  siteOfBlock(block: number, low: number, high: number): number {
    const address = addressFromHalves(high, low);
    const known = block < 0 ? -1 : (this.#site[block] as number) - 1;
    // A call that is followed only after `forget` has the number of another block.
    if (known >= 0 && this.#siteAddress[known] === address) return known;
    const site = this.siteBefore(address);
    if (block >= 0) this.#site[block] = site + 1;
    return site;
  }

  /** The index of the call that returns to an address; a new one for a new address. */
  siteBefore(address: number): number {
    let site = this.#sites.get(address);
    if (site === undefined) {
      site = this.#siteAddress.push(address) - 1;
      this.#sites.set(address, site);
    }
    return site;
  }

  /** The index of the call that returns to an address; `undefined` if there was no such call. */
  siteReturningTo(low: number, high: number): number | undefined {
    return this.#sites.get(addressFromHalves(high, low));
  }

  addressOfSite(site: number): number {
    return this.#siteAddress[site] as number;
  }

  /** Whether the code before an address may be a call. `block` begins at the address, or is -1. */
  isAfterCall(code: ThreadCode, low: number, high: number, block: number): boolean {
    const known = block < 0 ? AFTER_CALL.NEW : this.#afterCall[block];
    if (known !== AFTER_CALL.NEW) return known === AFTER_CALL.YES;
    const may = mayFollowCall(code, low, high) ||
      this.#code.isPokedBefore(addressFromHalves(high, low), 8);
    if (block >= 0) this.#afterCall[block] = may ? AFTER_CALL.YES : AFTER_CALL.NO;
    return may;
  }
}

/** Whether the bytes before an address may be a call. */
function mayFollowCall(code: ThreadCode, low: number, high: number): boolean {
  const byte = (before: number): number => {
    const at = low - before | 0;
    const of = (low >>> 0) < before ? high - 1 | 0 : high;
    const range = code.find(at, of);
    if (range === undefined) return -1;
    const offset = offsetIn(range, at, of);
    const window = range.window(offset);
    return window?.bytes[offset - window.from] ?? -1;
  };
  const direct = byte(DIRECT_CALL);
  // Unreadable code may be a call.
  if (direct === 0xe8 || direct < 0) return true;
  return INDIRECT_CALLS.some((before) =>
    byte(before) === 0xff && (byte(before - 1) >> 3 & 7) === 2
  );
}

/** The end of a block: {@linkcode PENDING}. */
function pendingOf(blocks: BlockCache, block: number): number {
  switch (blocks.kind[block]) {
    case InsnKind.CALL:
      return isRealCall(blocks, block) ? PENDING.CALL : PENDING.NONE;
    case InsnKind.CALL_INDIRECT:
      return PENDING.CALL;
    case InsnKind.JMP_INDIRECT:
      return PENDING.JUMP;
    case InsnKind.RET:
      return PENDING.RETURN;
    case InsnKind.SYSCALL:
    case InsnKind.INT:
    case InsnKind.FAR_CALL:
    case InsnKind.VM_ENTRY:
    case InsnKind.VM_CALL:
      return PENDING.LEAVE;
    case InsnKind.SYSRET:
    case InsnKind.IRET:
    case InsnKind.FAR_RET:
      return PENDING.COME_BACK;
    default:
      return PENDING.NONE;
  }
}
