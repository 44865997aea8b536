import { Cursor } from "../dwarf/bytes.ts";
import { DwarfError } from "../dwarf/dwarf_error.ts";
import { DW_EH_PE } from "./cfi_constants.ts";
import type { CfiMachine } from "./cfi_machine.ts";

/** A section of call frame information. */
export interface FrameSectionBytes {
  /** Name of the section. The layout of `.debug_frame` differs from `.eh_frame`. */
  readonly name: ".eh_frame" | ".debug_frame";
  /** Decompressed bytes of the section. */
  readonly bytes: Uint8Array;
  /** Address in memory, the base of relative pointers; 0 for `.debug_frame`. */
  readonly address: number;
  /** Byte order. */
  readonly littleEndian: boolean;
}

/** A common information entry (DWARF 5, 6.4.1). */
export interface Cie {
  /** Offset in the section. */
  readonly offset: number;
  /** Factor of location advances. */
  readonly codeAlign: number;
  /** Factor of offsets. */
  readonly dataAlign: number;
  /** The column of the return address. */
  readonly returnAddress: number;
  /** Encoding (`DW_EH_PE_*`) of addresses in the FDEs. */
  readonly encoding: number;
  /** Size of an address in bytes, for encodings that do not state one. */
  readonly addressSize: number;
  /** Whether the FDEs have augmentation data with a length (`z`). */
  readonly sized: boolean;
  /** Whether the frame is a signal's (`S`): its program counter is exact, not a return address. */
  readonly signal: boolean;
  /** Whether return addresses are signed with key B (`B`, aarch64). */
  readonly keyB: boolean;
  /** First byte of the initial instructions. */
  readonly start: number;
  /** End of the initial instructions. */
  readonly end: number;
}

/** A frame description entry (DWARF 5, 6.4.1): the instructions of one range of code. */
export interface Fde {
  /** Offset in the section. */
  readonly offset: number;
  /** The CIE that the entry refers to. */
  readonly cie: Cie;
  /** First address. */
  readonly low: number;
  /** First address after the range. */
  readonly high: number;
  /** First byte of the instructions. */
  readonly start: number;
  /** End of the instructions. */
  readonly end: number;
}

/** The head of an entry, CIE or FDE. */
interface EntryHead {
  /** Offset of the byte after the id. */
  readonly body: number;
  readonly end: number;
  /** Offset of the CIE that an FDE refers to; −1 for a CIE. */
  readonly cie: number;
}

/** Reads the entries of one section, and caches the CIEs. */
export class FrameSection {
  readonly source: FrameSectionBytes;
  readonly machine: CfiMachine;
  readonly #cursor: Cursor;
  readonly #cies = new Map<number, Cie | DwarfError>();

  constructor(source: FrameSectionBytes, machine: CfiMachine) {
    this.source = source;
    this.machine = machine;
    this.#cursor = new Cursor(source.bytes, source.name, 0, source.littleEndian);
  }

  /** Returns a cursor over `[start, end)`. The same object is reused by each call. */
  cursor(start: number, end: number): Cursor {
    const c = this.#cursor;
    c.pos = start;
    c.end = Math.min(end, c.bytes.length);
    return c;
  }

  /** Reads the head of the entry at `offset`; `undefined` for a terminator (length 0). */
  #head(offset: number): EntryHead | undefined {
    const c = this.cursor(offset, this.source.bytes.length);
    const { length, offsetSize } = c.unitLength();
    if (length === 0) return undefined;
    const idAt = c.pos;
    const end = idAt + length;
    if (end > c.end) throw c.error(`entry of ${length} bytes, ${c.end - idAt} left`, offset);
    c.end = end;
    if (this.source.name === ".eh_frame") {
      // In `.eh_frame` the id has four bytes even with 64-bit lengths.
      const id = c.u32();
      return { body: c.pos, end, cie: id === 0 ? -1 : idAt - id };
    }
    const id = c.uint(offsetSize);
    const isCie = offsetSize === 4 ? id === 0xffffffff : id >= 2 ** 64;
    return { body: c.pos, end, cie: isCie ? -1 : id };
  }

  /**
   * Calls `use` with the offset of each FDE, in order.
   *
   * @throws {DwarfError} if an entry exceeds the section
   */
  forEachFde(use: (offset: number) => void): void {
    let offset = 0;
    while (offset + 4 <= this.source.bytes.length) {
      const head = this.#head(offset);
      if (head !== undefined && head.cie >= 0) use(offset);
      offset = head === undefined ? offset + 4 : head.end;
    }
  }

  /**
   * Reads the FDE at `offset`.
   *
   * @throws {DwarfError} if there is no FDE, or it is malformed
   */
  fde(offset: number): Fde {
    if (offset < 0) throw new DwarfError(this.source.name, 0, "an FDE outside of the section");
    const head = this.#head(offset);
    if (head === undefined || head.cie < 0) {
      throw new DwarfError(this.source.name, offset, "no FDE is here");
    }
    const cie = this.cie(head.cie);
    const c = this.cursor(head.body, head.end);
    const low = this.pointer(c, cie.encoding, cie.addressSize);
    const length = this.pointer(c, cie.encoding & 0x0f, cie.addressSize);
    if (cie.sized) c.take(c.uleb());
    if (length < 0) throw c.error(`a range of ${length} bytes`, offset);
    return { offset, cie, low, high: low + length, start: c.pos, end: head.end };
  }

  /**
   * Reads the CIE at `offset`, or returns the cached one.
   *
   * @throws {DwarfError} if there is no CIE, or it is malformed
   */
  cie(offset: number): Cie {
    let cie = this.#cies.get(offset);
    if (cie === undefined) {
      try {
        cie = this.#readCie(offset);
      } catch (error) {
        if (!(error instanceof DwarfError)) throw error;
        cie = error;
      }
      this.#cies.set(offset, cie);
    }
    if (cie instanceof DwarfError) throw cie;
    return cie;
  }

  #readCie(offset: number): Cie {
    const { name } = this.source;
    if (offset < 0 || offset >= this.source.bytes.length) {
      throw new DwarfError(name, Math.max(0, offset), "a CIE outside of the section");
    }
    const head = this.#head(offset);
    if (head === undefined || head.cie >= 0) throw new DwarfError(name, offset, "no CIE is here");
    const c = this.cursor(head.body, head.end);
    const version = c.u8();
    if (version !== 1 && version !== 3 && version !== 4) {
      throw c.error(`CIE of version ${version}; 1, 3 or 4 expected`);
    }
    const text = c.skipString();
    const augmentation = String.fromCharCode(
      ...c.bytes.subarray(text, Math.min(c.pos - 1, text + 16)),
    );
    let addressSize: number = this.machine.addressSize;
    if (version === 4) {
      addressSize = c.u8();
      const segment = c.u8();
      if ((addressSize !== 4 && addressSize !== 8) || segment !== 0) {
        throw c.error(`addresses of ${addressSize} and segments of ${segment} bytes`, offset);
      }
    }
    if (augmentation === "eh") c.take(addressSize);
    const codeAlign = c.uleb();
    const dataAlign = c.sleb();
    const returnAddress = version === 1 ? c.u8() : c.uleb();
    let encoding: number = DW_EH_PE.absptr, signal = false, keyB = false;
    const sized = augmentation.startsWith("z");
    if (sized) {
      const size = c.uleb();
      const after = c.take(size) + size;
      c.pos = after - size;
      for (const letter of augmentation.slice(1)) {
        if (letter === "R") encoding = c.u8();
        else if (letter === "S") signal = true;
        else if (letter === "B") keyB = true;
        else if (letter === "L") c.u8();
        else if (letter === "P") this.pointer(c, c.u8(), addressSize);
        else if (letter !== "G") break; // The augmentation's length allows skipping the rest.
      }
      c.pos = after;
    } else if (augmentation !== "" && augmentation !== "eh" && augmentation !== "armcc+") {
      throw c.error(`augmentation ${JSON.stringify(augmentation)} without a length`, offset);
    }
    const common = { offset, codeAlign, dataAlign, returnAddress, encoding, addressSize };
    return { ...common, sized, signal, keyB, start: c.pos, end: head.end };
  }

  /**
   * Reads an address with an encoding (`DW_EH_PE_*`). An `indirect` pointer is not followed: the
   * address of the memory is returned.
   *
   * @throws {DwarfError} if the encoding is unknown
   */
  pointer(c: Cursor, encoding: number, addressSize: number): number {
    if (encoding === DW_EH_PE.omit) return 0;
    const how = encoding & 0x70;
    if (how === DW_EH_PE.aligned) {
      const over = (this.source.address + c.pos) % addressSize;
      if (over !== 0) c.take(addressSize - over);
      return c.address(addressSize);
    }
    const at = this.source.address + c.pos;
    const value = plainPointer(c, encoding & 0x0f, addressSize);
    if (how === 0) return value;
    if (how !== DW_EH_PE.pcrel) throw c.error(`pointer encoding 0x${encoding.toString(16)}`);
    return wrapAddress(at + value, addressSize);
  }
}

/**
 * Reads a number in the format that the low four bits of a `DW_EH_PE` state.
 *
 * @throws {DwarfError} if the format is unknown
 */
export function plainPointer(c: Cursor, format: number, addressSize: number): number {
  switch (format) {
    case DW_EH_PE.absptr:
      return c.address(addressSize);
    case DW_EH_PE.signed:
      return addressSize === 4 ? c.u32() | 0 : c.address(8);
    case DW_EH_PE.uleb128:
      return c.uleb();
    case DW_EH_PE.udata2:
      return c.u16();
    case DW_EH_PE.udata4:
      return c.u32();
    case DW_EH_PE.udata8:
    case DW_EH_PE.sdata8:
      return c.address(8);
    case DW_EH_PE.sleb128:
      return c.sleb();
    case DW_EH_PE.sdata2:
      return c.u16() << 16 >> 16;
    case DW_EH_PE.sdata4:
      return c.u32() | 0;
  }
  throw c.error(`pointer format 0x${format.toString(16)}`);
}

/** Reduces an address modulo 2³² on machines with 4-byte addresses. */
function wrapAddress(value: number, addressSize: number): number {
  return addressSize === 4 ? value >>> 0 : value;
}
