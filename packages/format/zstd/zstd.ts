import { BlockDecoder, type BlockState, MARGIN, MAX_BLOCK } from "./block.ts";
import { corrupt } from "./entropy_tables.ts";

/** Inflates a zstd stream that arrives in pieces. */
export interface ZstdStream {
  /**
   * Inflates the next piece; yields the output in parts of at most a block. A part is valid until the
   * next one is requested.
   *
   * @throws {Error} If the data is not a zstd stream, or its window exceeds the limit.
   */
  push(compressed: Uint8Array): Iterable<Uint8Array>;
  /** Whether the input so far consists of whole frames. False at its end means that it was cut. */
  readonly isBetweenFrames: boolean;
  /** Returns the state, from which another stream can continue, also in another thread; `undefined` within a block. */
  state?(): ZstdState | undefined;
}

/** State of a stream between two blocks, which can be sent to another thread. */
export interface ZstdState {
  /** The bytes that matches may refer to, up to the size of the window. */
  readonly history: Uint8Array<ArrayBuffer>;
  /** Size of the frame's window; `undefined` between two frames. */
  readonly window: number | undefined;
  /** Whether a checksum follows the frame. */
  readonly checksum: boolean;
  /** State of the block decoder. */
  readonly blocks: unknown;
}

/** Maximum size of a window: that of zstd's highest level, which its own tools accept. */
const MAX_WINDOW = 2 ** 27;
/** Minimum room after the window, so that the window is moved once for many blocks. */
const ROOM = 1 << 20;

const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a5;
const BLOCK_RAW = 0;
const BLOCK_RLE = 1;
const BLOCK_COMPRESSED = 2;
/** Size of a frame's content size by flag. For flag 0, it is the single segment flag. */
const CONTENT_SIZE = [0, 2, 4, 8];

/**
 * Inflates Zstandard (RFC 8878), in any runtime.
 *
 * perf's COMPRESSED records are pieces of one stream, flushed after each record, so a piece
 * inflates to whole bytes but not to whole records. 64 KB may inflate to gigabytes; only one
 * block of 128 KB is in memory at a time. Time and memory are bounded by the actual input and output, not by claimed
 * sizes: a block that would exceed 128 KB is an error, and the window's memory grows as it fills.
 *
 * Checksums are ignored; dictionaries are not supported.
 *
 * @param from State of another stream, after which the pushed bytes continue; by default, the beginning.
 *
 * @example
 * ```ts
 * import { zstdStream } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * // A frame with one block, which repeats a byte five times.
 * const frame = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 5, 5 << 3 | 1 << 1 | 1, 0, 0, 42];
 * const parts = [...zstdStream().push(Uint8Array.from(frame))];
 * assertEquals(parts, [Uint8Array.of(42, 42, 42, 42, 42)]);
 * ```
 */
export function zstdStream(from?: ZstdState): ZstdStream {
  const frames = new Frames();
  if (from !== undefined) frames.resume(from);
  return frames;
}

/**
 * Inflates all frames of `compressed` into `size` bytes.
 *
 * @throws {Error} If the data is not zstd, is cut, or does not inflate to `size` bytes.
 *
 * @example
 * ```ts
 * import { zstdDecompress } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const frame = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 2, 2 << 3 | 1, 0, 0, 42, 43];
 * assertEquals(zstdDecompress(Uint8Array.from(frame), 2), Uint8Array.of(42, 43));
 * ```
 */
export function zstdDecompress(compressed: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  let bytes = new Uint8Array(Math.min(size, 16 * MAX_BLOCK));
  let length = 0;
  for (const part of zstdParts([compressed])) {
    if (length + part.length > size) throw new Error(`zstd data of more than ${size} bytes`);
    if (length + part.length > bytes.length) {
      const larger = new Uint8Array(Math.min(size, 2 * bytes.length));
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(part, length);
    length += part.length;
  }
  if (length !== size) throw new Error(`zstd data of ${length} bytes, expected ${size}`);
  return bytes;
}

/**
 * Inflates whole frames that arrive in pieces, one block at a time. A part is valid until the next one is
 * requested.
 *
 * @throws {Error} If the data is not zstd, is empty, or ends within a frame.
 *
 * @example
 * ```ts
 * import { zstdParts } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const frame = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 2, 2 << 3 | 1, 0, 0, 42, 43];
 * const pieces = [Uint8Array.from(frame.slice(0, 7)), Uint8Array.from(frame.slice(7))];
 * assertEquals([...zstdParts(pieces)], [Uint8Array.of(42, 43)]);
 * ```
 */
export function* zstdParts(pieces: Iterable<Uint8Array>): Generator<Uint8Array, void, void> {
  const frames = new Frames();
  let size = 0;
  for (const piece of pieces) {
    size += piece.length;
    yield* frames.push(piece);
  }
  if (size === 0 || !frames.isBetweenFrames) throw new Error("zstd data is cut");
}

/** Splits a stream into frames and blocks (RFC 8878, 3.1.1) and inflates them. Pieces may end anywhere. */
class Frames implements ZstdStream {
  /** Header of a frame or block that is being read. */
  readonly #head = new DataView(new ArrayBuffer(18));
  #have = 0;
  /** Size of that header, as far as it is known. */
  #want = 5;
  /** Part of the stream that follows. */
  #state: "frame" | "block" | "body" | "skip" = "frame";
  #checksum = false;
  #type = BLOCK_RAW;
  /** Inflated size of a block of type RLE. */
  #repeats = 0;
  #isLast = false;
  /** Bytes left of a block's body or of a skipped frame. */
  #left = 0;
  #window = 0;
  /** Body of the current block, with margins. */
  readonly #body = new Uint8Array(MAX_BLOCK + 2 * MARGIN);
  readonly #bodyView = new DataView(this.#body.buffer);
  #bodySize = 0;
  readonly #blocks = new BlockDecoder();
  readonly #out = { bytes: new Uint8Array(0), length: 0 };

  /** Whether the last frame is complete. */
  get isBetweenFrames(): boolean {
    return this.#state === "frame" && this.#have === 0;
  }

  state(): ZstdState | undefined {
    const inFrame = this.#state === "block";
    if (this.#have > 0 || !(inFrame || this.#state === "frame")) return undefined;
    const { bytes, length } = this.#out;
    return {
      history: inFrame
        ? bytes.slice(Math.max(0, length - this.#window), length)
        : bytes.slice(0, 0),
      window: inFrame ? this.#window : undefined,
      checksum: this.#checksum,
      blocks: this.#blocks.state(),
    };
  }

  resume({ history, window, checksum, blocks }: ZstdState): void {
    if (window === undefined) return;
    this.#window = window;
    this.#checksum = checksum;
    this.#blocks.resume(blocks as BlockState);
    this.#out.bytes = new Uint8Array(history.length + ROOM);
    this.#out.bytes.set(history);
    this.#out.length = history.length;
    this.#next("block", 3);
  }

  *push(bytes: Uint8Array): Generator<Uint8Array, void, void> {
    for (let at = 0; at < bytes.length;) {
      if (this.#state === "frame" || this.#state === "block") {
        this.#head.setUint8(this.#have++, bytes[at++] as number);
        if (this.#have < this.#want) continue;
        if (this.#state === "frame") this.#readFrame();
        else this.#readBlock();
      } else {
        const taken = Math.min(this.#left, bytes.length - at);
        if (this.#state === "body") {
          this.#body.set(bytes.subarray(at, at + taken), MARGIN + this.#bodySize);
          this.#bodySize += taken;
        }
        this.#left -= taken;
        at += taken;
      }
      if (this.#left > 0 || (this.#state !== "body" && this.#state !== "skip")) continue;
      if (this.#state === "skip") this.#next("frame", 5);
      else {
        const inflated = this.#inflate();
        if (!this.#isLast) this.#next("block", 3);
        else if (this.#checksum) this.#skip(4);
        else this.#next("frame", 5);
        if (inflated.length > 0) yield inflated;
      }
    }
  }

  #readFrame(): void {
    const head = this.#head;
    const magic = head.getUint32(0, true);
    const skippable = magic >>> 4 === SKIPPABLE_MAGIC;
    if (!skippable && magic !== FRAME_MAGIC) corrupt("no frame begins here");
    const flags = head.getUint8(4);
    const single = (flags >> 5) & 1;
    const dictionary = [0, 1, 2, 4][flags & 3] as number;
    const contentSize = flags >> 6 === 0 ? single : CONTENT_SIZE[flags >> 6] as number;
    const size = skippable ? 8 : 6 - single + dictionary + contentSize;
    if (this.#have < size) {
      this.#want = size;
      return;
    }
    if (skippable) return this.#skip(head.getUint32(4, true));
    const idAt = 6 - single;
    for (let i = 0; i < dictionary; i++) {
      if (head.getUint8(idAt + i) !== 0) throw new Error("zstd data that needs a dictionary");
    }
    const descriptor = head.getUint8(5);
    const window = single === 1
      ? contentSizeOf(head, size - contentSize, contentSize)
      : 2 ** (10 + (descriptor >> 3)) * (1 + (descriptor & 7) / 8);
    if (window > MAX_WINDOW) {
      throw new Error(`a window of ${window} bytes, expected at most ${MAX_WINDOW}`);
    }
    this.#window = window;
    this.#checksum = (flags & 4) !== 0;
    this.#blocks.reset();
    this.#out.length = 0;
    this.#next("block", 3);
  }

  #readBlock(): void {
    const head = this.#head.getUint16(0, true) | this.#head.getUint8(2) << 16;
    const size = head >> 3;
    if (size > MAX_BLOCK) {
      throw new Error(`a block of ${size} bytes, expected at most ${MAX_BLOCK}`);
    }
    this.#isLast = (head & 1) === 1;
    this.#type = (head >> 1) & 3;
    if (this.#type > BLOCK_COMPRESSED) corrupt("a block of type 3");
    this.#repeats = size;
    this.#left = this.#type === BLOCK_RLE ? 1 : size;
    this.#bodySize = 0;
    this.#state = "body";
  }

  #inflate(): Uint8Array {
    const out = this.#out;
    this.#makeRoom();
    const from = out.length;
    const end = MARGIN + this.#bodySize;
    if (this.#type === BLOCK_COMPRESSED) {
      this.#blocks.inflate(this.#body, this.#bodyView, MARGIN, end, out);
    } else if (this.#type === BLOCK_RLE) {
      out.bytes.fill(this.#body[MARGIN] as number, from, from + this.#repeats);
      out.length += this.#repeats;
    } else {
      out.bytes.set(this.#body.subarray(MARGIN, end), from);
      out.length += this.#bodySize;
    }
    return out.bytes.subarray(from, out.length);
  }

  /** Makes room for a block: moves the window, or enlarges the buffer while the window fills. */
  #makeRoom(): void {
    const out = this.#out;
    if (out.length + MAX_BLOCK <= out.bytes.length) return;
    const most = this.#window + Math.max(ROOM, Math.min(this.#window, 8 * ROOM));
    if (out.bytes.length < most) {
      const size = Math.min(most, Math.max(2 * out.bytes.length, 2 * MAX_BLOCK));
      const larger = new Uint8Array(size);
      larger.set(out.bytes.subarray(0, out.length));
      out.bytes = larger;
      if (out.length + MAX_BLOCK <= size) return;
    }
    out.bytes.copyWithin(0, out.length - this.#window, out.length);
    out.length = this.#window;
  }

  #skip(size: number): void {
    this.#left = size;
    this.#have = 0;
    this.#state = "skip";
    if (size === 0) this.#next("frame", 5);
  }

  #next(state: "frame" | "block", want: number): void {
    this.#have = 0;
    this.#want = want;
    this.#state = state;
  }
}

/** Reads the content size of a frame; a two-byte value is 256 too low. */
function contentSizeOf(head: DataView, at: number, size: number): number {
  let value = size === 2 ? 256 : 0;
  for (let i = 0; i < size; i++) value += head.getUint8(at + i) * 256 ** i;
  return value;
}
