import { decodeFeature, type Feature } from "@perfdata/format/features";
import { type Diagnostics, partitionPoint } from "@perfdata/format/bytes";
import type { SymbolInfo } from "@perfdata/symbols";
import { addressFromBigInt, mapKind, type SymbolObject } from "@perfdata/symbols/resolver";

/** A file with its sampled symbols, as simpleperf and hiperf record it. */
export interface RecordedFile {
  readonly path: string;
  readonly type: number;
  /** Virtual address of the executable segment, and its offset in the file. */
  readonly vaddr: bigint;
  readonly offset: bigint;
  readonly symbols: readonly RecordedSymbol[];
}

interface RecordedSymbol {
  readonly vaddr: bigint;
  readonly len: bigint;
  readonly name: string;
}

/** Kinds of files of simpleperf (`DsoType` in its dso.h). */
const DEX_FILE = 3, SYMBOL_MAP_FILE = 4;

/**
 * Maximum size of a symbol without a recorded size. Symbols of kallsyms reach to the next symbol.
 */
const LONGEST = 1 << 16;

/** The symbols of one object that are in the recording itself. */
class RecordedSymbols {
  readonly #symbols: readonly SymbolInfo[];

  /**
   * Sorts the symbols, which have addresses of their object. Size 0 means that the size is unknown.
   */
  constructor(symbols: readonly SymbolInfo[]) {
    const sorted = symbols.toSorted((a, b) => a.start - b.start);
    this.#symbols = sorted.map((symbol, i) => {
      if (symbol.end > symbol.start) return symbol;
      const next = sorted[i + 1]?.start ?? Infinity;
      return { ...symbol, end: Math.min(next, symbol.start + LONGEST) };
    });
  }

  find(address: number): SymbolInfo | undefined {
    const all = this.#symbols;
    const isBefore = (i: number) => (all[i] as SymbolInfo).start <= address;
    const symbol = all[partitionPoint(0, all.length, isBefore) - 1];
    return symbol !== undefined && address < symbol.end ? symbol : undefined;
  }
}

/**
 * The files with symbols in the features SP_FILE and SP_FILE2 of simpleperf and HI_FILES_SYMBOL of
 * hiperf.
 *
 * @param report receives errors in a feature
 */
export function recordedFiles(
  features: readonly { readonly id: number; readonly bytes: Uint8Array }[],
  littleEndian: boolean,
  report: Diagnostics | undefined,
): RecordedFile[] {
  return features.flatMap(({ id, bytes }) => {
    const feature = decodeFeature(id, bytes, { littleEndian });
    if (feature.name === "RAW" && feature.error !== undefined) report?.(feature.error);
    return filesOf(feature);
  });
}

/** The symbols of an object in such files; `undefined` if the files have no symbols of it. */
export function recordedSymbols(
  files: readonly RecordedFile[],
  object: SymbolObject,
): RecordedSymbols | undefined {
  const symbols: SymbolInfo[] = [];
  for (const file of files) {
    const isKernel = mapKind(file.path) === "kernel";
    if (object.kind === "kernel" ? !isKernel : file.path !== object.path) continue;
    for (const { vaddr, len, name } of file.symbols) {
      const start = startOf(object, file, vaddr);
      symbols.push({ name, start, end: start + Number(len) });
    }
  }
  return symbols.length === 0 ? undefined : new RecordedSymbols(symbols);
}

function startOf(object: SymbolObject, file: RecordedFile, vaddr: bigint): number {
  // Symbols of the kernel and of compiled code have addresses in memory.
  if (object.kind === "kernel") {
    return addressFromBigInt(vaddr) -
      (object.reference === undefined ? 0 : object.referenceAddress ?? 0);
  }
  if (object.kind === "jit" || file.type === SYMBOL_MAP_FILE) return addressFromBigInt(vaddr);
  if (object.kind === "module") return addressFromBigInt(BigInt.asUintN(64, vaddr - file.vaddr));
  // Symbols of a dex file have file offsets.
  if (file.type === DEX_FILE) return addressFromBigInt(vaddr);
  return addressFromBigInt(BigInt.asUintN(64, vaddr - file.vaddr + file.offset));
}

function filesOf(feature: Feature): RecordedFile[] {
  switch (feature.name) {
    case "SP_FILE":
      return feature.value.map(({ path, type, min_vaddr, file_offset_of_min_vaddr, symbols }) => ({
        path,
        type,
        vaddr: min_vaddr,
        offset: file_offset_of_min_vaddr ?? 0n,
        symbols: symbols.map(({ start_vaddr, len, name }) => ({
          vaddr: start_vaddr,
          len: BigInt(len),
          name,
        })),
      }));
    case "SP_FILE2":
      return feature.value.map(fileFeature);
    case "HI_FILES_SYMBOL":
      return feature.value.files.map((file) => ({
        path: file.path,
        // Kinds of hiperf differ from simpleperf's: treat all files as ELF.
        type: -1,
        vaddr: file.text_exec_vaddr,
        offset: file.text_exec_vaddr_file_offset,
        symbols: file.symbols.map(({ vaddr, len, name }) => ({ vaddr, len: BigInt(len), name })),
      }));
  }
  return [];
}

/** Decodes a `FileFeature` of simpleperf's record_file.proto. */
function fileFeature(bytes: Uint8Array): RecordedFile {
  let path = "", type = 0, vaddr = 0n, offset = 0n;
  const symbols: RecordedSymbol[] = [];
  for (const [field, value] of protobuf(bytes)) {
    if (field === 1 && typeof value !== "bigint") path = text(value);
    else if (field === 2 && typeof value === "bigint") type = Number(value);
    else if (field === 3 && typeof value === "bigint") vaddr = value;
    else if (field === 4 && typeof value !== "bigint") symbols.push(symbolOf(value));
    else if (field === 6 && typeof value !== "bigint") {
      for (const [inner, number] of protobuf(value)) {
        if (inner === 1 && typeof number === "bigint") offset = number;
      }
    }
  }
  return { path, type, vaddr, offset, symbols };
}

function symbolOf(bytes: Uint8Array): RecordedSymbol {
  let vaddr = 0n, len = 0n, name = "";
  for (const [field, value] of protobuf(bytes)) {
    if (field === 1 && typeof value === "bigint") vaddr = value;
    else if (field === 2 && typeof value === "bigint") len = value;
    else if (field === 3 && typeof value !== "bigint") name = text(value);
  }
  return { vaddr, len, name };
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/**
 * Decodes the fields of a protobuf message: numbers, and bytes of strings and messages. Stops at a
 * cut field.
 */
function* protobuf(bytes: Uint8Array): Generator<[number, bigint | Uint8Array]> {
  let at = 0;
  const varint = (): bigint | undefined => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) return undefined;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    return undefined;
  };
  while (at < bytes.length) {
    const key = varint();
    if (key === undefined) return;
    const field = Number(key >> 3n), wire = Number(key & 7n);
    if (wire === 0) {
      const value = varint();
      if (value === undefined) return;
      yield [field, value];
    } else if (wire === 2) {
      const length = varint();
      if (length === undefined || length > BigInt(bytes.length - at)) return;
      yield [field, bytes.subarray(at, at + Number(length))];
      at += Number(length);
    } else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else return;
  }
}
