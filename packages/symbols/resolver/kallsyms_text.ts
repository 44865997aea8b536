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

/** The file with the symbols of the running kernel. */
export const RUNNING_KALLSYMS = "/proc/kallsyms";

/** The copies of kallsyms that a resolver has read: each is read once. */
export class KallsymsTexts {
  readonly #texts = new Map<string, KallsymsText | undefined>();
  /** Why a copy cannot be read: each object that asks for it is told. */
  readonly #refused = new Map<string, readonly RefusedFile[]>();

  /** The copy of that path; `undefined` if there is none or it is empty. */
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

/** A copy of kallsyms. */
class KallsymsText {
  /** Its bytes. */
  readonly bytes: Uint8Array;
  /** Whether all of its addresses read as 0. */
  readonly restricted: boolean;
  #lookUps = 0;
  #read: Kallsyms | undefined;

  /** Reads only whether it is restricted. */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.restricted = isKallsymsRestricted(bytes);
  }

  /** All of it. */
  get read(): Kallsyms {
    return this.#read ??= readKallsyms(this.bytes);
  }

  /** A table for the look-up of some addresses plus `base` among the kernel's own symbols. */
  tableFor(addresses: Float64Array, base: Address): SymbolTable {
    if (this.#read !== undefined || this.#lookUps++ >= FEW_LOOK_UPS) return this.read.table;
    return readKallsymsAt(this.bytes, addresses.map((address) => address + base).sort());
  }

  /**
   * The address from which addresses of a kernel count; `undefined` if it is that of another kernel,
   * without the symbol by which the recording says where its kernel was.
   */
  base({ reference }: SymbolObject): Address | undefined {
    return reference === undefined ? 0 : findKallsym(this.bytes, reference);
  }
}
