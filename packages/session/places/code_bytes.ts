import { floatAt } from "@perfdata/format/bytes";
import { type BinarySource, type SymbolObject, SymbolsError } from "@perfdata/symbols/resolver";
import { dataRanges, ElfFile, JitSymbols, openJitdump } from "@perfdata/symbols";
import { type CodeFiles, kernelImages, type MemoryImage } from "./code_images.ts";

/** Bytes of code, or the reason why they are missing. */
export type CodeBytes = { readonly bytes: Uint8Array } | { readonly missing: string };

/** Data among code, such as literals: bytes from the first address of the code. */
export interface DataRange {
  /** First byte. */
  readonly from: number;
  /** Byte after the last one. */
  readonly to: number;
}

/**
 * Reads the code of objects from the sources that an Intel PT trace is decoded with: files, a copy
 * of the kernel's memory, its `vmlinux`, jitdump files. Changes of the kernel's code (TEXT_POKE)
 * are not applied.
 *
 * @example
 * ```ts
 * import { ObjectCodeReader } from "@perfdata/session/code";
 * import { bytesSource } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * const source = bytesSource(Uint8Array.of(0x90, 0xc3));
 * const code = new ObjectCodeReader({ open: () => ({ source }), file: () => undefined });
 * assertEquals(code.read({ path: "/bin/a", kind: "elf" }, 1, 1), { bytes: Uint8Array.of(0xc3) });
 * ```
 */
export class ObjectCodeReader {
  /**
   * The kernel's file, if code was read from it: it lacks the changes that the kernel made to
   * itself.
   */
  kernelFile: string | undefined;
  readonly #files: CodeFiles;
  readonly #memory: readonly MemoryImage[];
  readonly #opened = new Map<SymbolObject, ReturnType<CodeFiles["open"]>>();
  readonly #kernels = new Map<SymbolObject, readonly MemoryImage[] | string>();
  /** File offsets of data: first and last, in pairs, in order. */
  readonly #data = new Map<SymbolObject, Float64Array>();
  readonly #jit = new Map<string, { source: BinarySource; symbols: JitSymbols } | string>();

  /**
   * Prepares for files and memory, without opening them.
   *
   * @param memory Copies of memory, such as `kcore_dir/kcore`, for the kernel of the host and its
   * modules.
   */
  constructor(files: CodeFiles, memory: readonly MemoryImage[] = []) {
    this.#files = files;
    this.#memory = memory;
  }

  /**
   * Reads code.
   *
   * @param start First address in the object.
   * @param size Number of bytes.
   * @param time Time in ns of the recording's clock, for generated code whose object has no
   * version.
   */
  read(object: SymbolObject, start: number, size: number, time = Infinity): CodeBytes {
    try {
      switch (object.kind) {
        case "kernel":
          return this.#kernel(object, start, size);
        case "module":
          return this.#module(object, start, size);
        case "jit":
          return this.#compiled(object, start, size, time);
        case "elf":
        case "vdso":
          return this.#file(object, start, size);
        default:
          return { missing: "not recorded" };
      }
    } catch (error) {
      if (error instanceof SymbolsError) return { missing: error.message };
      throw error;
    }
  }

  /**
   * The data among the code of a file, by the mapping symbols of assemblers for Arm (`$d`).
   *
   * @param start First address of the code in the object.
   * @param size Number of bytes.
   */
  data(object: SymbolObject, start: number, size: number): DataRange[] {
    if (object.kind !== "elf" && object.kind !== "vdso") return [];
    const found = this.#open(object);
    if ("missing" in found) return [];
    let offsets = this.#data.get(object);
    if (offsets === undefined) {
      offsets = dataOffsets(found.source);
      this.#data.set(object, offsets);
    }
    const ranges: DataRange[] = [];
    for (let i = 0; i < offsets.length; i += 2) {
      const from = Math.max(0, floatAt(offsets, i) - start);
      const to = Math.min(size, floatAt(offsets, i + 1) - start);
      if (from < to) ranges.push({ from, to });
    }
    return ranges;
  }

  #open(object: SymbolObject): ReturnType<CodeFiles["open"]> {
    let found = this.#opened.get(object);
    if (found === undefined) this.#opened.set(object, found = this.#files.open(object));
    return found;
  }

  #file(object: SymbolObject, start: number, size: number): CodeBytes {
    const found = this.#open(object);
    return "missing" in found ? found : { bytes: found.source.read(start, size).slice() };
  }

  #kernel(object: SymbolObject, start: number, size: number): CodeBytes {
    const { reference: name, referenceAddress: address } = object;
    const copied = object.guest === undefined
      ? fromImages(this.#memory, start + (address ?? 0), size)
      : undefined;
    if (copied !== undefined) return { bytes: copied };
    let images = this.#kernels.get(object);
    if (images === undefined) {
      const found = this.#open(object);
      if ("missing" in found) images = found.missing;
      else if (name === undefined || address === undefined) {
        images = "the recording does not say where the kernel was";
      } else images = kernelImages(found.source, { name, address });
      this.#kernels.set(object, images);
    }
    if (typeof images === "string") return { missing: images };
    const bytes = fromImages(images, start + (address ?? 0), size);
    if (bytes === undefined) return { missing: "not in the kernel's file" };
    this.kernelFile = object.path;
    return { bytes };
  }

  #module(object: SymbolObject, start: number, size: number): CodeBytes {
    const { loadAddress, guest } = object;
    const bytes = loadAddress === undefined || guest !== undefined
      ? undefined
      : fromImages(this.#memory, start + loadAddress, size);
    return bytes === undefined ? this.#file(object, start, size) : { bytes };
  }

  #compiled(
    { jitdump, version }: SymbolObject,
    start: number,
    size: number,
    time: number,
  ): CodeBytes {
    if (jitdump === undefined) return { missing: "no jitdump" };
    let opened = this.#jit.get(jitdump);
    if (opened === undefined) {
      const source = this.#files.file(jitdump);
      opened = source === undefined
        ? `${jitdump}: file missing`
        : { source, symbols: new JitSymbols(openJitdump(source).records()) };
      this.#jit.set(jitdump, opened);
    }
    if (typeof opened === "string") return { missing: opened };
    const code = version === undefined
      ? opened.symbols.lookup(start, time)
      : opened.symbols.ofVersion(start, version);
    if (code === undefined || start + size > code.end) {
      return { missing: "not in the jitdump file" };
    }
    return { bytes: opened.source.read(code.codeOffset + start - code.start, size).slice() };
  }
}

/** Offsets of the data among the code; none if the file has no symbols that can be read. */
function dataOffsets(source: BinarySource): Float64Array {
  try {
    return dataRanges(ElfFile.open(source));
  } catch (error) {
    if (!(error instanceof SymbolsError)) throw error;
    return new Float64Array(0);
  }
}

/** @param start First address; addresses of the kernel are negative (two's complement). */
function fromImages(
  images: readonly MemoryImage[],
  start: number,
  size: number,
): Uint8Array | undefined {
  const wanted = BigInt.asUintN(64, BigInt(start));
  for (const { address, size: whole, offset, source } of images) {
    if (wanted < address || wanted + BigInt(size) > address + BigInt(whole)) continue;
    return source.read(offset + Number(wanted - address), size).slice();
  }
  return undefined;
}
