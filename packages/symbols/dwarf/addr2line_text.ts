import { ByteText, floatAt, intAt, putHex16, putHex8, uintAt } from "@perfdata/format/bytes";
import type { Address } from "../resolver/address.ts";
import type { SymbolTable } from "../table/symbol_table.ts";
import type { DwarfContext } from "./dwarf_context.ts";

/** Options of {@linkcode Addr2LineText}: the flags of binutils' `addr2line`. */
export interface Addr2LineOptions {
  /** `-f`: print the function on its own line. */
  readonly functions?: boolean;
  /** `-i`: print the functions that the code was inlined into, too. */
  readonly inlines?: boolean;
  /** `-a`: print the address on its own line. */
  readonly addresses?: boolean;
  /** `-p`: print a frame on one line. */
  readonly pretty?: boolean;
  /** `-s`: print file names without directories. */
  readonly basenames?: boolean;
  /** `-C`: demangles a name. By default, names stay mangled. */
  readonly demangle?: (name: string) => string;
  /** Digits of an address: 16, or 8 for 32-bit files. */
  readonly addressDigits?: 8 | 16;
}

/** The frame look-ups of {@linkcode Addr2LineText}: a `DwarfContext` or `BundleFrames`. */
export type FrameFinder =
  & Pick<DwarfContext, "findAll" | "functions" | "files">
  & Partial<Pick<DwarfContext, "functionName" | "linkageNameBytes">>;

/** The symbol look-ups for addresses without frames: a `SymbolTable` or `BundleFrames`. */
export type SymbolFinder = Pick<SymbolTable, "lookup" | "name">;

const encoder = new TextEncoder();
const PREFIX = encoder.encode("0x");
const UNKNOWN = encoder.encode("??");
const AFTER_ADDRESS = encoder.encode(": ");
const AT = encoder.encode(" at ");
const INLINED_BY = encoder.encode(" (inlined by) ");
const DISCRIMINATOR = encoder.encode(" (discriminator ");
const COLON = 0x3a, NEWLINE = 0x0a, SPACE = 0x20, QUESTION = 0x3f, CLOSE = 0x29;

/**
 * Prints addresses in the format of binutils' `addr2line`.
 *
 * The text differs where binutils cannot read the debug information, or mixes it with the symbol
 * table: here, the ELF symbol names only the outermost function, and only if DWARF has no linkage
 * name and the symbol is mangled.
 *
 * @example
 * ```ts
 * import { Addr2LineText, DwarfContext } from "@perfdata/symbols/dwarf";
 * import { assertEquals } from "@std/assert";
 *
 * const nothing = DwarfContext.open({ littleEndian: true, get: () => undefined });
 * const text = new Addr2LineText(nothing, () => undefined, { functions: true, addresses: true });
 * let out = "";
 * text.write(Float64Array.of(0x1136), (bytes) => out += new TextDecoder().decode(bytes));
 * assertEquals(out, "0x0000000000001136\n??\n??:0\n");
 * ```
 */
export class Addr2LineText {
  readonly #dwarf: FrameFinder;
  readonly #readSymbols: () => SymbolFinder | undefined;
  #symbolTable: SymbolFinder | undefined;
  #symbolsRead = false;
  readonly #options: Addr2LineOptions;
  #functionBytes: (Uint8Array | undefined)[] = [];
  readonly #symbolBytes = new Map<number, Uint8Array>();
  /** Whether a symbol's name is mangled, by symbol number. */
  readonly #mangled = new Map<number, boolean>();
  readonly #fileBytes: Uint8Array[] = [];
  readonly #text = new ByteText();

  /**
   * Creates the printer.
   *
   * @param symbols Reads the file's symbols; called at the first function that DWARF does not name.
   */
  constructor(
    dwarf: FrameFinder,
    symbols: () => SymbolFinder | undefined,
    options: Addr2LineOptions = {},
  ) {
    this.#dwarf = dwarf;
    this.#readSymbols = symbols;
    this.#options = options;
  }

  get #symbols(): SymbolFinder | undefined {
    if (!this.#symbolsRead) {
      this.#symbolsRead = true;
      this.#symbolTable = this.#readSymbols();
    }
    return this.#symbolTable;
  }

  /**
   * Prints `addresses` in their order, in chunks of about 128 KiB. A chunk is only valid until
   * `write` returns.
   *
   * `shown` are the addresses to print, if they differ from those to look up.
   *
   * @throws {DwarfError} as {@linkcode DwarfContext.findAll}
   */
  write(
    addresses: Float64Array,
    write: (bytes: Uint8Array) => void,
    shown: Float64Array = addresses,
  ): void {
    const { functions, inlines, addresses: withAddress, pretty } = this.#options;
    const batch = this.#dwarf.findAll(addresses, { names: "linkage" });
    this.#reserveFunctions(batch.function);
    const text = this.#text;
    for (let i = 0; i < addresses.length; i++) {
      if (text.isFull) write(text.lend());
      if (withAddress) {
        this.#putAddress(floatAt(shown, i));
        if (pretty) text.bytes(AFTER_ADDRESS);
        else text.byte(NEWLINE);
      }
      const address = floatAt(addresses, i);
      const count = uintAt(batch.count, i);
      const first = uintAt(batch.first, i);
      if (count === 0) {
        this.#withoutDwarf(address);
        continue;
      }
      // All frames show the innermost frame's discriminator, as in binutils.
      const discriminator = intAt(batch.discriminator, first) >>> 0;
      const frames = inlines ? count : 1;
      for (let k = first; k < first + frames; k++) {
        if (functions) {
          text.bytes(
            this.#functionName(intAt(batch.function, k), address, k === first + count - 1),
          );
          if (pretty) text.bytes(AT);
          else text.byte(NEWLINE);
        }
        const file = intAt(batch.file, k);
        text.bytes(file < 0 ? UNKNOWN : this.#fileName(file));
        text.byte(COLON);
        this.#putLine(intAt(batch.line, k) >>> 0, discriminator);
        text.byte(NEWLINE);
        if (pretty && k + 1 < first + frames) text.bytes(INLINED_BY);
      }
    }
    if (text.length > 0) write(text.lend());
  }

  /** Grows the cache once. Setting scattered elements would make the array slow. */
  #reserveFunctions(ids: Int32Array): void {
    let most = -1;
    for (let i = 0; i < ids.length; i++) {
      const id = intAt(ids, i);
      if (id > most) most = id;
    }
    const known = this.#functionBytes;
    if (most < known.length) return;
    const wider = new Array<Uint8Array | undefined>(2 * (most + 1)).fill(undefined);
    for (let i = 0; i < known.length; i++) wider[i] = known[i];
    this.#functionBytes = wider;
  }

  #withoutDwarf(address: Address): void {
    const { functions, pretty } = this.#options;
    const text = this.#text;
    const symbol = this.#symbols?.lookup(address) ?? -1;
    if (functions) {
      text.bytes(symbol < 0 ? UNKNOWN : this.#symbolName(symbol));
      if (!pretty) text.byte(NEWLINE);
      else if (symbol < 0) text.byte(SPACE);
      else text.bytes(AT);
    }
    text.bytes(UNKNOWN);
    text.byte(COLON);
    text.byte(symbol < 0 ? 0x30 : QUESTION);
    text.byte(NEWLINE);
  }

  #functionName(id: number, address: Address, outermost: boolean): Uint8Array {
    const known = this.#functionBytes[id];
    if (known !== undefined) return known;
    const dwarf = this.#dwarf;
    const written = dwarf.linkageNameBytes?.(id);
    const { demangle } = this.#options;
    if (written !== undefined && demangle === undefined) return this.#functionBytes[id] = written;
    const linked = dwarf.linkageNameBytes === undefined
      ? dwarf.functions[id]?.linkageName !== undefined
      : written !== undefined;
    const symbol = outermost && !linked ? this.#symbols?.lookup(address) ?? -1 : -1;
    // Try the symbol first: most functions without a linkage name then need no DWARF name.
    if (symbol >= 0 && this.#isMangled(symbol)) return this.#symbolName(symbol);
    const name = dwarf.functionName === undefined ? dwarf.functions[id] : dwarf.functionName(id);
    if (symbol >= 0 && name?.function === undefined) return this.#symbolName(symbol);
    if (name === undefined) return UNKNOWN;
    const bytes = this.#encoded(name.linkageName ?? name.function ?? "??");
    // Do not cache a name that depends on the symbol table.
    if (name.linkageName !== undefined) this.#functionBytes[id] = bytes;
    return bytes;
  }

  #isMangled(symbol: number): boolean {
    let mangled = this.#mangled.get(symbol);
    if (mangled === undefined) {
      mangled = /^_[ZR]/.test(this.#symbols?.name(symbol) ?? "");
      this.#mangled.set(symbol, mangled);
    }
    return mangled;
  }

  #symbolName(symbol: number): Uint8Array {
    let bytes = this.#symbolBytes.get(symbol);
    if (bytes === undefined) {
      bytes = this.#encoded(this.#symbols?.name(symbol) ?? "??");
      this.#symbolBytes.set(symbol, bytes);
    }
    return bytes;
  }

  #encoded(name: string): Uint8Array {
    return encoder.encode(this.#options.demangle?.(name) ?? name);
  }

  #fileName(id: number): Uint8Array {
    let bytes = this.#fileBytes[id];
    if (bytes === undefined) {
      const path = this.#dwarf.files[id] ?? "??";
      bytes = encoder.encode(
        this.#options.basenames ? path.slice(path.lastIndexOf("/") + 1) : path,
      );
      this.#fileBytes[id] = bytes;
    }
    return bytes;
  }

  #putLine(line: number, discriminator: number): void {
    const text = this.#text;
    if (line === 0) {
      text.byte(QUESTION);
      return;
    }
    text.number(line);
    if (discriminator === 0) return;
    text.bytes(DISCRIMINATOR);
    text.number(discriminator);
    text.byte(CLOSE);
  }

  #putAddress(address: Address): void {
    const text = this.#text;
    text.bytes(PREFIX);
    const high = Math.floor(address / 4294967296);
    const low = address - high * 4294967296;
    const view = text.reserve(16);
    text.length = this.#options.addressDigits === 8
      ? putHex8(view, text.length, low)
      : putHex16(view, text.length, high, low);
  }
}
