import type { Address } from "./address.ts";
import type { Frame } from "../dwarf/dwarf_context.ts";
import type { SymbolInfo } from "../table/symbol_table.ts";
import type { UnresolvedCause } from "./trust_report.ts";

/** Kind of an object, which determines the source of its symbols and the base of its addresses. */
export type ObjectKind =
  /** An executable or a library. Addresses are byte offsets in the file. */
  | "elf"
  /** The kernel. Addresses are distances from its reference symbol. */
  | "kernel"
  /** A kernel module. Addresses are distances from where it was loaded. */
  | "module"
  /** The virtual dynamic shared object. Addresses are byte offsets in it. */
  | "vdso"
  /** What the JIT compiler of a process made. Addresses are those of the process. */
  | "jit"
  /** One BPF program, trampoline or the like. Addresses are distances from its start. */
  | "bpf";

/**
 * A program, library, kernel or other piece of code, and how to find its symbols.
 *
 * Addresses in it count as its {@linkcode ObjectKind} says: so that they are the same wherever it
 * was loaded, and can be computed without having it.
 */
export interface SymbolObject {
  /** Path, or the name in brackets; of a BPF program, its name; `/tmp/perf-PID.map` of a JIT. */
  readonly path: string;
  /** What it is. */
  readonly kind: ObjectKind;
  /** Its build id in lower-case hex, if it is known. */
  readonly buildId?: string;
  /** Name of the kernel's reference symbol: `_text`. Without one, addresses are those at run time. */
  readonly reference?: string;
  /** Where the reference symbol was while the recording was made. */
  readonly referenceAddress?: Address;
  /** Where a module was loaded then. */
  readonly loadAddress?: Address;
  /** Size of a BPF program in bytes. */
  readonly size?: number;
  /** Process id of the guest whose code it is, 0 for the default guest; none for the host. */
  readonly guest?: number;
  /** The jitdump file of a JIT's process. */
  readonly jitdump?: string;
  /**
   * Of a JIT compiler's code, which of the pieces that an address belonged to one after the other: 1 for
   * the first, 0 before that came. Left out: the newest.
   */
  readonly version?: number;
}

/**
 * Whether names of an object can be verified at all. Generated code and BPF programs have no build id: their
 * names come from the map or dump of the process by its number, or from the recording itself.
 */
export function canHaveBuildId({ kind }: Pick<SymbolObject, "kind">): boolean {
  return kind !== "jit" && kind !== "bpf";
}

/** A function at an address, and where in its source. */
export interface ResolvedFrame extends Frame {
  /** The function as it is to be shown; `"??"` where nothing names it. */
  readonly name: string;
}

/** Result of looking up an address. */
export interface Resolution {
  /** The symbol table's entry; `start` and `end` count as the addresses of the object do. */
  readonly symbol: SymbolInfo | undefined;
  /**
   * The function at the address and what it was inlined into, innermost first. The last one is
   * there without debug information as well, if a symbol names it. Empty if nothing is known.
   */
  readonly frames: readonly ResolvedFrame[];
  /** Why nothing is known; `undefined` where something is. */
  readonly cause: UnresolvedCause | undefined;
  /**
   * Whether other JIT code had been at the address before this code, and no time says which of them is meant.
   */
  readonly isNewest?: boolean;
}

/** The function as the source calls it, with its scope where only that tells which one it is. */
function sourceName({ function: name, scope }: Frame): string | undefined {
  return name === undefined || scope === undefined ? name : `${scope}::${name}`;
}

/** The name in a frame that is to be demangled and shown. */
function mangledName(frame: Frame, symbol: SymbolInfo | undefined): string {
  if (frame.linkageName !== undefined) return frame.linkageName;
  // Producers leave the linkage name of static and local functions out; the symbol table has it.
  const useSymbol = !frame.inlined && symbol !== undefined &&
    (frame.function === undefined || /^_[ZR]/.test(symbol.name));
  return useSymbol ? symbol.name : frame.function ?? "??";
}

/**
 * Joins what the symbol table and what the debug information say of an address.
 *
 * @param symbol entry of the symbol table
 * @param frames from the debug information; may be empty
 * @param show makes names readable
 *
 * @example
 * ```ts
 * import { resolution } from "@perfdata/symbols/resolution";
 * import { assertEquals } from "@std/assert";
 *
 * const { frames } = resolution({ name: "main", start: 0x1000, end: 0x1040 }, [], (name) => name);
 * assertEquals(frames.map((frame) => [frame.name, frame.line]), [["main", 0]]);
 * ```
 */
export function resolution(
  symbol: SymbolInfo | undefined,
  frames: readonly Frame[],
  show: (name: string) => string,
): Resolution {
  if (frames.length === 0 && symbol === undefined) return unresolved("no symbols");
  return {
    symbol,
    frames: frames.length > 0
      ? frames.map(({ scope, ...frame }) => {
        // A symbol that is not mangled has no scope, and names the function everywhere.
        const name = frame.inlined || symbol === undefined
          ? sourceName({ ...frame, scope })
          : frame.function;
        const shown = { ...frame, function: name };
        return { ...shown, name: show(mangledName(shown, symbol)) };
      })
      : [symbolFrame(symbol, show)],
    cause: undefined,
  };
}

/** The frame of a symbol alone: its name is made readable on demand. */
function symbolFrame(
  symbol: SymbolInfo | undefined,
  show: (name: string) => string,
): ResolvedFrame {
  let name: string | undefined;
  return {
    ...NO_DEBUG_INFORMATION,
    get name(): string {
      return name ??= show(mangledName(NO_DEBUG_INFORMATION, symbol));
    },
  };
}

const NO_DEBUG_INFORMATION: Frame = {
  function: undefined,
  linkageName: undefined,
  file: undefined,
  line: 0,
  column: 0,
  discriminator: 0,
  inlined: false,
};

/**
 * The answer for an address of which nothing is known.
 *
 * @example
 * ```ts
 * import { unresolved } from "@perfdata/symbols/resolution";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(unresolved("file missing").frames, []);
 * ```
 */
export function unresolved(cause: UnresolvedCause): Resolution {
  return { symbol: undefined, frames: [], cause };
}
