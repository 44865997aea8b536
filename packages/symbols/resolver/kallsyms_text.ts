import type { Address } from "./address.ts";
import {
  findKallsym,
  isKallsymsRestricted,
  type Kallsyms,
  readKallsyms,
  readKallsymsAt,
} from "../table/kallsyms.ts";
import type { RefusedFile } from "../files/file_search.ts";
import type { OpenedFiles } from "../files/opened_files.ts";
import type { SymbolObject } from "./resolution.ts";
import type { SymbolTable } from "../table/symbol_table.ts";
import { FEW_LOOK_UPS } from "./table_lookup.ts";

/** The file with the running kernel's symbols. */
export const RUNNING_KALLSYMS = "/proc/kallsyms";

/** A resolver's copies of kallsyms. Each one is read once. */
export class KallsymsTexts {
  readonly #texts = new Map<string, KallsymsText | undefined>();
  /** Refusals of unreadable copies, repeated for each object that uses them. */
  readonly #refused = new Map<string, readonly RefusedFile[]>();

  /** The copy at that path; `undefined` if it does not exist or is empty. */
  read(path: string, opened: OpenedFiles): KallsymsText | undefined {
    if (!this.#texts.has(path)) {
      const before = opened.refused.length;
      const bytes = opened.read(path);
      const empty = bytes === undefined || bytes.length === 0;
      this.#texts.set(path, empty ? undefined : new KallsymsText(bytes));
      this.#refused.set(path, opened.refused.slice(before));
    } else opened.refused.push(...this.#refused.get(path) ?? []);
    return this.#texts.get(path);
  }
}

class KallsymsText {
  readonly bytes: Uint8Array;
  /** Whether all of its addresses are 0. */
  readonly restricted: boolean;
  #lookUps = 0;
  #read: Kallsyms | undefined;

  /** Checks only whether the copy is restricted. */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.restricted = isKallsymsRestricted(bytes);
  }

  get read(): Kallsyms {
    return this.#read ??= readKallsyms(this.bytes);
  }

  /**
   * A symbol table for the look-up of some addresses plus `base` among the kernel's own symbols.
   */
  tableFor(addresses: Float64Array, base: Address): SymbolTable {
    if (this.#read !== undefined || this.#lookUps++ >= FEW_LOOK_UPS) return this.read.table;
    return readKallsymsAt(this.bytes, addresses.map((address) => address + base).sort());
  }

  /**
   * The base of a kernel's addresses; `undefined` if the copy lacks the recorded reference symbol,
   * so that it is of another kernel.
   */
  base({ reference }: SymbolObject): Address | undefined {
    return reference === undefined ? 0 : findKallsym(this.bytes, reference);
  }
}
