import type { Frame } from "../dwarf/dwarf_context.ts";
import { SymbolsError } from "../errors.ts";
import type { JitCode, JitSymbols } from "../jit/jit_symbols.ts";
import type { OpenedFiles } from "../files/opened_files.ts";
import { type Resolution, resolution, type SymbolObject, unresolved } from "./resolution.ts";
import type { SymbolInfo, SymbolTable } from "../table/symbol_table.ts";
import { CONTESTED_MAP } from "./trust_report.ts";
import { type Lookup, noSymbols, type ResolverContext } from "./lookup.ts";

/** Opens the symbols of JIT-compiled code: its jitdump file, then its perf map. */
export function jitLookup(
  object: SymbolObject,
  { show, jit }: ResolverContext,
  opened: OpenedFiles,
): Lookup {
  const { version } = object;
  const dumpPath = jit.dumpPath(object);
  // As in perf, since any user can write to /tmp.
  const dump = dumpPath === undefined || opened.refusesForeign(dumpPath)
    ? undefined
    : opened.attempt({ path: dumpPath, origin: "path" }, () => jit.open(object)?.symbols);
  const path = jit.pathOf(object.path);
  const map = opened.refusesForeign(path)
    ? undefined
    : opened.attempt({ path, origin: "path" }, () => jit.perfMap(object.path));
  if (dump === undefined && map === undefined) return noSymbols("JIT");
  let isSaid = false;
  const inMap = (address: number): Resolution => {
    // One report for a map: several threads look up parts of a recording, and their reports are
    // merged.
    if (map?.isContested(address) === true && !isSaid) {
      isSaid = true;
      opened.fault(
        new SymbolsError(
          -1,
          `${CONTESTED_MAP}, of which the last counts at all times, as a perf map has no times; ` +
            "a jitdump file has (perf record -k mono)",
        ),
      );
    }
    return findInMap(map, address, show);
  };
  const origin = dump !== undefined && dumpPath !== undefined ? dumpPath : path;
  return {
    origin,
    // JIT-compiled code has no build id; the process id identifies its map.
    verified: true,
    find: (addresses, times) =>
      Array.from(addresses, (address, i) => {
        const time = times?.[i] ?? Infinity;
        const code = version === undefined
          ? dump?.lookup(address, time)
          : dump?.ofVersion(address, version);
        const found = findInDump(dump, code, address, show);
        if (found === undefined) return inMap(address);
        const isUntimed = version === undefined && time === Infinity;
        return isUntimed && dump?.isReusedAt(address) === true
          ? { ...found, isNewest: true }
          : found;
      }),
  };
}

function findInDump(
  dump: JitSymbols | undefined,
  code: JitCode | undefined,
  address: number,
  show: (name: string) => string,
): Resolution | undefined {
  if (dump === undefined || code === undefined) return undefined;
  const line = dump.line(code, address);
  const { name, start, end } = code;
  const frames: Frame[] = line === undefined ? [] : [{
    function: name,
    linkageName: undefined,
    file: line.file,
    line: line.line,
    column: 0,
    discriminator: line.discriminator,
    inlined: false,
  }];
  return resolution({ name, start, end }, frames, show);
}

function findInMap(
  map: SymbolTable | undefined,
  address: number,
  show: (name: string) => string,
): Resolution {
  const symbol = map?.get(map.lookup(address));
  return symbol === undefined ? unresolved("JIT") : resolution(symbol, [], show);
}

/** The symbol of a BPF program, whose name is in the recording. */
export function bpfLookup(object: SymbolObject, { show }: ResolverContext): Lookup {
  const symbol: SymbolInfo = { name: object.path, start: 0, end: object.size ?? 0 };
  const answer = resolution(symbol, [], show);
  return { verified: true, find: (addresses) => Array.from(addresses, () => answer) };
}

export function stateLookup({ names = [] }: SymbolObject): Lookup {
  return {
    verified: true,
    find: (addresses) =>
      Array.from(addresses, (start) => {
        const name = names[start];
        const symbol = name === undefined ? undefined : { name, start, end: start + 1 };
        return resolution(symbol, [], (shown) => shown);
      }),
  };
}
