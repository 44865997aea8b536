import { partitionPoint } from "@perfdata/format/bytes";

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

  /** Creates a range at an address, with the bytes of a file from an offset on. */
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

/** An image with its address in halves, and its used ranges. */
interface PlacedImage {
  readonly image: MemoryImage;
  readonly low: number;
  readonly high: number;
  /** Ranges of code by key: the piece of the image, and how many changes of its bytes came before. */
  readonly ranges: Map<string, CodeRange>;
}

/** Copies of the memory of the host or a guest, with their changes. */
export class CodeMemory {
  readonly #ranges: CodeRanges;
  readonly #pokes: readonly TextPoke[];
  /** Images sorted by address. */
  readonly #images: PlacedImage[] = [];

  /**
   * Starts with images.
   *
   * @param pokes Changes of the memory, in order of time.
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

  add(images: readonly MemoryImage[]): void {
    for (const image of images) {
      const low = Number(BigInt.asIntN(32, image.address));
      const high = Number(BigInt.asIntN(32, image.address >> 32n));
      this.#images.push({ image, low, high, ranges: new Map() });
    }
    this.#images.sort((a, b) => compareAddress(a.low, a.high, b.low, b.high));
  }

  /** The image with an address, and the distance from its beginning. */
  at(
    low: number,
    high: number,
  ): { readonly image: MemoryImage; readonly distance: number } | undefined {
    const found = this.#find(low, high);
    return found && { image: found.image, distance: distanceIn(found, low, high) };
  }

  /** The code at an address in its state at a time; `undefined` if no image has the address. */
  code(low: number, high: number, time: number): CodeRange | undefined {
    const found = this.#find(low, high);
    if (found === undefined) return undefined;
    const piece = Math.floor(distanceIn(found, low, high) / MAX_RANGE);
    // Code with a change is another range.
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
    const images = this.#images;
    const after = partitionPoint(0, images.length, (i) => {
      const placed = images[i] as PlacedImage;
      return compareAddress(placed.low, placed.high, low, high) <= 0;
    });
    const found = images[after - 1];
    if (found === undefined) return undefined;
    // Kernel addresses are negative: they are sorted after all others, and their distance from an
    // image before is negative.
    const distance = distanceIn(found, low, high);
    return distance >= 0 && distance < found.image.size ? found : undefined;
  }

  #pokesUntil(time: number): number {
    return partitionPoint(0, this.#pokes.length, (i) => (this.#pokes[i]?.time ?? 0) <= time);
  }
}

function distanceIn(from: PlacedImage, low: number, high: number): number {
  return addressFromHalves(high, low) - addressFromHalves(from.high, from.low);
}
