import type { Address } from "./address.ts";
import type { Frame } from "../dwarf/dwarf_context.ts";
import type { SymbolInfo } from "../table/symbol_table.ts";
import type { UnresolvedCause } from "./trust_report.ts";

/** Kind of an object. It determines the source of the symbols and the base of the addresses. */
export type ObjectKind =
  /** An executable or a library. Addresses are file offsets. */
  | "elf"
  /** The kernel. Addresses are distances from its reference symbol. */
  | "kernel"
  /** A kernel module. Addresses are distances from its load address. */
  | "module"
  /** The virtual dynamic shared object. Addresses are offsets in it. */
  | "vdso"
  /** JIT-compiled code of a process. Addresses are those of the process. */
  | "jit"
  /** A BPF program, trampoline or dispatcher. Addresses are distances from its start. */
  | "bpf"
  /** States of threads, which are not code. Addresses are indices of their names. */
  | "state";

/**
 * A program, library, kernel or other piece of code.
 *
 * Addresses in it depend on its {@linkcode ObjectKind}, not on the load address, and can be
 * computed without its file.
 */
export interface SymbolObject {
  /**
   * Path, or name in brackets; for a BPF program, its name; for JIT-compiled code,
   * `/tmp/perf-PID.map`.
   */
  readonly path: string;
  /** Kind of the object. */
  readonly kind: ObjectKind;
  /** Build id in lower-case hex, if known. */
  readonly buildId?: string;
  /**
   * Name of the kernel's reference symbol: `_text`. Without it, addresses are run-time addresses.
   */
  readonly reference?: string;
  /** Address of the reference symbol during the recording. */
  readonly referenceAddress?: Address;
  /** A module's load address during the recording. */
  readonly loadAddress?: Address;
  /** A BPF program's size in bytes. */
  readonly size?: number;
  /** Process id of the guest with the code; 0 for the default guest. Missing for the host. */
  readonly guest?: number;
  /** A process that maps the file: its files are searched, too, while it runs in a container. */
  readonly pid?: number;
  /** Path of the jitdump file of JIT-compiled code. */
  readonly jitdump?: string;
  /**
   * Number of the JIT-compiled code at an address: 1 for the first, 0 if it was loaded later.
   * Missing: the newest.
   */
  readonly version?: number;
  /** Names of states. */
  readonly names?: readonly string[];
}

/**
 * Whether an object's names can be verified. JIT-compiled code, BPF programs and states have no
 * build id: their names come from the process's map or dump, or from the recording.
 */
export function canHaveBuildId({ kind }: Pick<SymbolObject, "kind">): boolean {
  return kind !== "jit" && kind !== "bpf" && kind !== "state";
}

/** A function and source line at an address, with its display name. */
export interface ResolvedFrame extends Frame {
  /** Display name of the function; `"??"` without a name. */
  readonly name: string;
}

/** Result of a look-up. */
export interface Resolution {
  /** The symbol table's entry; `start` and `end` are addresses in the object. */
  readonly symbol: SymbolInfo | undefined;
  /**
   * The function at the address and its callers by inlining, innermost first. The outermost frame
   * exists without debug information too, if there is a symbol. Empty if nothing is known.
   */
  readonly frames: readonly ResolvedFrame[];
  /** Reason for an unknown address; `undefined` if the address is known. */
  readonly cause: UnresolvedCause | undefined;
  /**
   * Whether other JIT-compiled code was at the address earlier, and no time selects one of them.
   */
  readonly isNewest?: boolean;
}

/** The function's name in the source, with its scope if there is no linkage name. */
function sourceName({ function: name, scope }: Frame): string | undefined {
  return name === undefined || scope === undefined ? name : `${scope}::${name}`;
}

/** A frame's name, to be demangled for display. */
function mangledName(frame: Frame, symbol: SymbolInfo | undefined): string {
  if (frame.linkageName !== undefined) return frame.linkageName;
  // Producers omit linkage names of static and local functions; the symbol table has them.
  const useSymbol = !frame.inlined && symbol !== undefined &&
    (frame.function === undefined || /^_[ZR]/.test(symbol.name));
  return useSymbol ? symbol.name : frame.function ?? "??";
}

/**
 * Combines an address's entries in the symbol table and the debug information.
 *
 * @param symbol entry of the symbol table
 * @param frames frames from the debug information; may be empty
 * @param show demangles names
 *
 * @example
 * ```ts
 * import { resolution } from "@perfdata/symbols/resolver";
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
        // An unmangled symbol names the function without scope.
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

/** A frame made from a symbol. Its name is demangled on demand. */
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
 * The result for an unknown address.
 *
 * @example
 * ```ts
 * import { unresolved } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(unresolved("file missing").frames, []);
 * ```
 */
export function unresolved(cause: UnresolvedCause): Resolution {
  return { symbol: undefined, frames: [], cause };
}
