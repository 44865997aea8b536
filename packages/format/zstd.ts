import { Decompress } from "fzstd";

/** Inflates one zstd stream that arrives in pieces. */
export interface ZstdStream {
  /**
   * Takes the next piece; gives what it inflates to, a block or so at a time. Each is valid until the
   * next one is asked for.
   *
   * @throws {Error} Where this is no zstd stream, or wants more memory than is given to one.
   */
  push(compressed: Uint8Array): Iterable<Uint8Array>;
}

/** Bytes that one block may inflate to (`Block_Maximum_Size` of RFC 8878, 3.1.1.2.4). */
const MAX_BLOCK = 1 << 17;
/** Bytes of the largest window: that of zstd's highest level, and what its own tools accept. */
const MAX_WINDOW = 2 ** 27;
/**
 * Bytes that the windows of all blocks in one piece may have together. After each block the library
 * moves its whole window, so that thousands of empty blocks with a large window take minutes; perf's
 * pieces have a block for each 128 KB that they inflate to, and few more.
 */
const MAX_MOVED = 2 ** 33;

/**
 * Inflates with the pure JavaScript library `fzstd`, in any runtime.
 *
 * perf's COMPRESSED records are the pieces of one stream over all records, each flushed, so a piece
 * inflates to whole bytes but not to whole records. It is given to the library block by block: 64 KB
 * may inflate to gigabytes, of which there is one block at a time.
 */
export function zstdStream(): ZstdStream {
  let chunks: Uint8Array[] = [];
  const stream = new Decompress((chunk) => {
    if (chunk.length > MAX_BLOCK) throw new Error(`a block of ${chunk.length} bytes`);
    // The library reuses its window: what is not copied changes later.
    chunks.push(chunk.slice());
  });
  const blocks = new BlockSplitter();
  return {
    *push(compressed) {
      for (const piece of blocks.split(compressed)) {
        chunks = [];
        stream.push(piece);
        yield* chunks;
      }
    },
  };
}

const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a5;
const BLOCK_RLE = 1;
/** Bytes of a frame's content size by its flag; of flag 0 it is the flag for a single segment. */
const CONTENT_SIZE = [0, 2, 4, 8];

/** Cuts a zstd stream after its blocks (RFC 8878, 3.1.1), whatever the pieces in which it comes. */
class BlockSplitter {
  /** The header that is being read, of a frame or a block. */
  readonly #head = new Uint8Array(18);
  #have = 0;
  /** Bytes of the header, as far as it is known. */
  #want = 5;
  #inFrame = false;
  #checksum = false;
  /** Bytes left of the body of a block, or what else is passed over. */
  #body = 0;
  /** Bytes of the frame's window. */
  #window = 0;
  /** The windows of the blocks in this piece. */
  #moved = 0;

  *split(bytes: Uint8Array): Generator<Uint8Array, void, void> {
    this.#moved = 0;
    let start = 0;
    let at = 0;
    while (at < bytes.length) {
      if (this.#body > 0) {
        const taken = Math.min(this.#body, bytes.length - at);
        this.#body -= taken;
        at += taken;
        if (this.#body > 0) break;
        yield bytes.subarray(start, at);
        start = at;
      } else {
        this.#head[this.#have++] = bytes[at++] as number;
        if (this.#have < this.#want) continue;
        if (this.#inFrame) this.#block();
        else this.#frame();
      }
    }
    if (start < at) yield bytes.subarray(start, at);
  }

  #frame(): void {
    const head = new DataView(this.#head.buffer);
    const magic = head.getUint32(0, true);
    const skippable = magic >>> 4 === SKIPPABLE_MAGIC;
    if (!skippable && magic !== FRAME_MAGIC) throw new Error("invalid zstd data");
    const flags = head.getUint8(4);
    const single = (flags >> 5) & 1;
    const dictionary = [0, 1, 2, 4][flags & 3] as number;
    const contentSize = flags >> 6 === 0 ? single : CONTENT_SIZE[flags >> 6] as number;
    const size = skippable ? 8 : 6 - single + dictionary + contentSize;
    if (this.#have < size) {
      this.#want = size;
      return;
    }
    if (skippable) {
      this.#body = head.getUint32(4, true);
      this.#next(5, false);
      return;
    }
    const descriptor = head.getUint8(5);
    const window = single === 1
      ? littleEndian(this.#head.subarray(size - contentSize, size))
      : 2 ** (10 + (descriptor >> 3)) * (1 + (descriptor & 7) / 8);
    if (window > MAX_WINDOW) {
      throw new Error(`a window of ${window} bytes, expected at most ${MAX_WINDOW}`);
    }
    this.#window = window;
    this.#checksum = (flags & 4) !== 0;
    this.#next(3, true);
  }

  #block(): void {
    const [a = 0, b = 0, c = 0] = this.#head;
    const size = a >> 3 | b << 5 | c << 13;
    if (size > MAX_BLOCK) {
      throw new Error(`a block of ${size} bytes, expected at most ${MAX_BLOCK}`);
    }
    this.#moved += this.#window;
    if (this.#moved > MAX_MOVED) {
      throw new Error(`more than ${MAX_MOVED / this.#window} blocks in one piece`);
    }
    const last = (a & 1) === 1;
    this.#body = ((a >> 1) & 3) === BLOCK_RLE ? 1 : size;
    if (last && this.#checksum) this.#body += 4;
    this.#next(last ? 5 : 3, !last);
  }

  #next(want: number, inFrame: boolean): void {
    this.#have = 0;
    this.#want = want;
    this.#inFrame = inFrame;
  }
}

function littleEndian(bytes: Uint8Array): number {
  return bytes.reduceRight((value, byte) => value * 256 + byte, 0);
}
