import { type CodeRange, compareAddress } from "@perfdata/intel-pt";
import { addressFromHalves, type BinarySource } from "@perfdata/symbols/resolver";
import {
  ChunkCache,
  FileRange,
  MAX_RANGE,
  type MemoryImage,
  type TextPoke,
} from "@perfdata/session/code";

/** Numbers the ranges of code of a recording, and reads them through one cache. */
export class CodeRanges {
  #next = 1;
  readonly #chunks = new ChunkCache();

  /** Makes a range: the bytes of a file from an offset on, at an address. */
  of(
    address: bigint,
    size: number,
    source: BinarySource,
    offset: number,
    pokes?: readonly TextPoke[],
  ): CodeRange {
    return new FileRange({
      id: this.#next++,
      low: Number(BigInt.asIntN(32, address)),
      high: Number(BigInt.asIntN(32, address >> 32n)),
      size,
      source,
      offset,
      chunks: this.#chunks,
      pokes,
    });
  }
}

/** An image, its address in halves, and the ranges of it that were asked for. */
interface PlacedImage {
  readonly image: MemoryImage;
  readonly low: number;
  readonly high: number;
  /** By piece and number of changes before. */
  readonly ranges: Map<string, CodeRange>;
}

/** Copies of memory, and how it changed: of the host, or of a guest. */
export class CodeMemory {
  readonly #ranges: CodeRanges;
  readonly #pokes: readonly TextPoke[];
  /** In order of their addresses. */
  readonly #images: PlacedImage[] = [];

  /**
   * Begins with images.
   *
   * @param pokes What was written over them, in order of time.
   */
  constructor(
    ranges: CodeRanges,
    images: readonly MemoryImage[],
    pokes: readonly TextPoke[] = [],
  ) {
    this.#ranges = ranges;
    this.#pokes = pokes;
    this.add(images);
  }

  /** Takes further images. */
  add(images: readonly MemoryImage[]): void {
    for (const image of images) {
      const low = Number(BigInt.asIntN(32, image.address));
      const high = Number(BigInt.asIntN(32, image.address >> 32n));
      this.#images.push({ image, low, high, ranges: new Map() });
    }
    this.#images.sort((a, b) => compareAddress(a.low, a.high, b.low, b.high));
  }

  /** The image with an address, and how far from its beginning that is. */
  at(
    low: number,
    high: number,
  ): { readonly image: MemoryImage; readonly distance: number } | undefined {
    const found = this.#find(low, high);
    return found && { image: found.image, distance: distanceIn(found, low, high) };
  }

  /** The code at an address, as it was at a time; `undefined` if no image has it. */
  code(low: number, high: number, time: number): CodeRange | undefined {
    const found = this.#find(low, high);
    if (found === undefined) return undefined;
    const piece = Math.floor(distanceIn(found, low, high) / MAX_RANGE);
    // Code that was changed since is another range.
    const pokes = this.#pokesUntil(time);
    const key = `${piece} ${pokes}`;
    let range = found.ranges.get(key);
    if (range === undefined) {
      const { address, size, source, offset } = found.image;
      const from = piece * MAX_RANGE;
      range = this.#ranges.of(
        address + BigInt(from),
        Math.min(MAX_RANGE, size - from),
        source,
        offset + from,
        this.#pokes.slice(0, pokes),
      );
      found.ranges.set(key, range);
    }
    return range;
  }

  #find(low: number, high: number): PlacedImage | undefined {
    let from = 0;
    let to = this.#images.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      const placed = this.#images[middle] as PlacedImage;
      if (compareAddress(placed.low, placed.high, low, high) <= 0) from = middle + 1;
      else to = middle;
    }
    const found = this.#images[from - 1];
    if (found === undefined) return undefined;
    // Addresses of the kernel are negative: they come after all others, and are far before them.
    const distance = distanceIn(found, low, high);
    return distance >= 0 && distance < found.image.size ? found : undefined;
  }

  #pokesUntil(time: number): number {
    let from = 0;
    let to = this.#pokes.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#pokes[middle]?.time ?? 0) <= time) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

function distanceIn(from: PlacedImage, low: number, high: number): number {
  return addressFromHalves(high, low) - addressFromHalves(from.high, from.low);
}
