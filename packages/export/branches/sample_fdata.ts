import { byteAt, ByteText, floatAt, uintAt } from "@perfdata/format/bytes";
import { type ElfFile, rawSymbolName, readRawSymbols, STT } from "@perfdata/symbols";
import { type BranchPlaces, linkedAddress } from "./branch_profile.ts";

/** Number of samples at a place. */
export interface PlaceSamples {
  /** Index of the place. */
  readonly place: number;
  /** Number of samples. */
  readonly samples: number;
}

/** Samples in one binary, by function. */
export interface BinarySamples {
  /** Functions with llvm-bolt's names, and samples by distance from their start. */
  readonly functions: readonly {
    readonly name: string;
    readonly samples: readonly { readonly offset: number; readonly count: number }[];
  }[];
  /** Share of all samples that are in functions of the binary. */
  readonly share: number;
}

/**
 * Selects the samples of one binary.
 *
 * @param isBinary Whether an object, by its index in `places`, is the binary.
 */
export function binarySamples(
  counts: Iterable<PlaceSamples>,
  places: BranchPlaces,
  elf: ElfFile,
  isBinary: (object: number) => boolean,
): BinarySamples {
  const ofObject = places.objects.map((_, number) => isBinary(number));
  const functions = boltFunctions(elf);
  const found = new Map<BoltFunction, Map<number, number>>();
  let all = 0;
  let own = 0;
  for (const { place, samples } of counts) {
    all += samples;
    if (place < 0 || ofObject[places.object(place)] !== true) continue;
    const address = linkedAddress(elf, places.address(place));
    const function_ = address === 0 ? undefined : functionAt(functions, address);
    if (function_ === undefined) continue;
    own += samples;
    let offsets = found.get(function_);
    if (offsets === undefined) found.set(function_, offsets = new Map());
    const offset = address - function_.start;
    offsets.set(offset, (offsets.get(offset) ?? 0) + samples);
  }
  return {
    functions: [...found].sort(([a], [b]) => a.start - b.start).map(([{ name }, offsets]) => ({
      name,
      samples: [...offsets].sort(([a], [b]) => a - b)
        .map(([offset, count]) => ({ offset, count })),
    })),
    share: all === 0 ? 0 : own / all,
  };
}

interface BoltFunction {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

/**
 * The functions of a file, sorted, with llvm-bolt's names: the first symbol at an address; local
 * names, which may repeat, are numbered (`RewriteInstance::discoverFileObjects`).
 */
function boltFunctions(elf: ElfFile): BoltFunction[] {
  const section = elf.section(".symtab");
  if (section === undefined) return [];
  const symbols = readRawSymbols(elf, section);
  const { value, size, info } = symbols;
  const isFunction = (i: number) => (byteAt(info, i) & 15) === STT.FUNC;
  const order: number[] = [];
  for (let i = 1; i < symbols.count; i++) {
    const type = byteAt(info, i) & 15;
    if (symbols.shndx[i] !== 0 && type !== STT_SECTION && type !== STT_FILE) order.push(i);
  }
  order.sort((a, b) =>
    floatAt(value, a) - floatAt(value, b) ||
    Number(isFunction(b)) - Number(isFunction(a)) || a - b
  );
  const numbers = new Map<string, number>();
  const functions: BoltFunction[] = [];
  for (const i of order) {
    const isLocal = byteAt(info, i) >> 4 === 0;
    let name = rawSymbolName(symbols, i);
    if (isLocal) {
      const number = (numbers.get(name) ?? 0) + 1;
      numbers.set(name, number);
      name = `${name}/${number}`;
    }
    const start = floatAt(value, i);
    if (!isFunction(i) || functions.at(-1)?.start === start) continue;
    // An assembler function without a size extends to the next one, at most to the end of its
    // section.
    const { addr = start, size: bytes = 0 } = elf.sections[uintAt(symbols.shndx, i)] ?? {};
    const end = size[i] === 0 ? addr + bytes : start + floatAt(size, i);
    functions.push({ start, end, name });
  }
  return functions;
}

const STT_SECTION = 3, STT_FILE = 4;

function functionAt(functions: readonly BoltFunction[], address: number): BoltFunction | undefined {
  let low = 0;
  let high = functions.length;
  while (low < high) {
    const middle = low + high >> 1;
    if ((functions[middle] as BoltFunction).start <= address) low = middle + 1;
    else high = middle;
  }
  const found = functions[low - 1];
  return found !== undefined && address < found.end ? found : undefined;
}

/**
 * The profile that `perf2bolt -nl` makes from samples without branches, for `llvm-bolt -data`.
 *
 * @param events Names of the events.
 *
 * @example
 * ```ts
 * import { boltSamples } from "@perfdata/export";
 * import { assertEquals } from "@std/assert";
 *
 * const functions = [{ name: "main", samples: [{ offset: 0x1c, count: 32 }] }];
 * const chunks = boltSamples({ functions, share: 1 }, ["cycles:u"]);
 * const text = [...chunks].map((bytes) => new TextDecoder().decode(bytes)).join("");
 * assertEquals(text, "no_lbr cycles:u:\n1 main 1c 32\n");
 * ```
 */
export function* boltSamples(
  { functions }: BinarySamples,
  events: readonly string[],
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const text = new ByteText();
  text.string(`no_lbr${events.map((name) => ` ${name}:`).join("")}\n`);
  for (const { name, samples } of functions) {
    const shown = name.replace(/[ \\]/g, "\\$&");
    for (const { offset, count } of samples) {
      text.string(`1 ${shown} ${offset.toString(16)} ${count}\n`);
    }
    if (text.isFull) yield text.take();
  }
  yield text.take();
}
