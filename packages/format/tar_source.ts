import { PerfDataError } from "./error.ts";
import type { StreamSource } from "./source.ts";

/** Bytes of a header, and what contents are padded to. */
const BLOCK = 512;
/** Members of a tar archive that hold files; all others are folders, links and what describes them. */
const REGULAR = new Set(["0", "\0", "7"]);
const RECORDING = /^(?:PERFILE2|2ELIFREP|PERFFILE)/;
/** Most names that a message lists. */
const LISTED = 5;

/**
 * Whether a file begins as a tar archive (POSIX ustar, or that of GNU) does: with the header of a member.
 *
 * @param start Its first 512 bytes.
 *
 * @example
 * ```ts
 * import { isTar } from "@perfdata/format/tar-source";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(isTar(new Uint8Array(512)), false);
 * ```
 */
export function isTar(start: Uint8Array): boolean {
  if (start.length < BLOCK || text(start, 257, 5) !== "ustar") return false;
  // The sum of all bytes, with blanks for the sum itself.
  let sum = 8 * 0x20;
  for (let i = 0; i < BLOCK; i++) if (i < 148 || i >= 156) sum += start[i] as number;
  return parseInt(text(start, 148, 8), 8) === sum;
}

function text(bytes: Uint8Array, from: number, length: number): string {
  const part = bytes.subarray(from, from + length);
  const end = part.indexOf(0);
  return new TextDecoder().decode(end < 0 ? part : part.subarray(0, end));
}

/** The size of a member: octal digits, or in base 256 where the first bit is set. */
function sizeOf(header: Uint8Array): number {
  const first = header[124] as number;
  if ((first & 0x80) === 0) return parseInt(text(header, 124, 12) || "0", 8);
  let size = first & 0x7f;
  for (let i = 125; i < 136; i++) size = size * 256 + (header[i] as number);
  return size;
}

/**
 * A stream, or where it is a tar archive the recording in that, as a stream. Of other members nothing is
 * kept.
 *
 * An archive without a recording, or with a second one after it, is a `PerfDataError`.
 *
 * @example
 * ```ts
 * import { recordingInTar } from "@perfdata/format/tar-source";
 * import { streamSource } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const plain = streamSource(new Blob(["PERFILE2, and so on"]).stream());
 * const into = new Uint8Array(8);
 * assertEquals(await recordingInTar(plain).read(into), 8);
 * assertEquals(new TextDecoder().decode(into), "PERFILE2");
 * ```
 */
export function recordingInTar(source: StreamSource): StreamSource {
  return new TarRecording(source);
}

class TarRecording implements StreamSource {
  readonly #source: StreamSource;
  /** What was read to look at it, and has to be given out. */
  #ahead: Uint8Array = new Uint8Array(0);
  #state: "new" | "plain" | "member" | "end" = "new";
  /** Bytes of the member that are left to be read of the source, and of its padding. */
  #left = 0;
  #padding = 0;
  #name = "";

  constructor(source: StreamSource) {
    this.#source = source;
  }

  async read(into: Uint8Array): Promise<number> {
    if (this.#state === "new") await this.#begin();
    if (this.#state === "end" || into.length === 0) return 0;
    if (this.#ahead.length > 0) {
      const part = this.#ahead.subarray(0, into.length);
      into.set(part);
      this.#ahead = this.#ahead.subarray(part.length);
      return part.length;
    }
    if (this.#state === "plain") return await this.#source.read(into);
    if (this.#left === 0) return 0;
    const n = await this.#source.read(into.subarray(0, Math.min(into.length, this.#left)));
    if (n === 0) throw new PerfDataError(`tar archive: ${this.#name} is cut`, { code: "cut" });
    this.#left -= n;
    // With the last byte, since nobody need read beyond it.
    if (this.#left === 0) await this.#finish();
    return n;
  }

  async #begin(): Promise<void> {
    const first = await this.#some(BLOCK);
    if (!isTar(first)) {
      this.#ahead = first;
      this.#state = "plain";
      return;
    }
    const others: string[] = [];
    if (await this.#next(first, others)) return;
    const more = others.length > LISTED ? ` and ${others.length - LISTED} more` : "";
    throw new PerfDataError(
      others.length === 0
        ? "tar archive: it is empty, expected a recording in it"
        : `tar archive: none of ${others.slice(0, LISTED).join(", ")}${more} is a recording`,
    );
  }

  /** Looks for a recording from a header on; whether there is one. */
  async #next(first: Uint8Array, others: string[]): Promise<boolean> {
    for (let header = first; isTar(header); header = await this.#some(BLOCK)) {
      const size = sizeOf(header);
      const name = [text(header, 345, 155), text(header, 0, 100)].filter((part) => part !== "")
        .join("/");
      if (!Number.isSafeInteger(size)) throw new PerfDataError(`tar archive: size of ${name}`);
      const isFile = REGULAR.has(String.fromCharCode(header[156] as number));
      const start = await this.#some(Math.min(size, 8));
      this.#left = size - start.length;
      this.#padding = (BLOCK - size % BLOCK) % BLOCK;
      this.#name = name;
      if (isFile && RECORDING.test(new TextDecoder().decode(start))) {
        this.#ahead = start;
        this.#state = "member";
        return true;
      }
      if (isFile) others.push(name);
      await this.#skip(this.#left + this.#padding);
    }
    return false;
  }

  /** After the recording: a second one is not passed over in silence. */
  async #finish(): Promise<void> {
    this.#state = "end";
    const name = this.#name;
    await this.#skip(this.#padding);
    if (!await this.#next(await this.#some(BLOCK), [])) return;
    this.#state = "end";
    throw new PerfDataError(
      `tar archive: it has ${this.#name} as well as ${name}, expected one recording: extract them`,
    );
  }

  /** So many bytes, or fewer at the end. */
  async #some(size: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(size);
    let length = 0;
    while (length < size) {
      const n = await this.#source.read(bytes.subarray(length));
      if (n === 0) break;
      length += n;
    }
    return bytes.subarray(0, length);
  }

  async #skip(size: number): Promise<void> {
    const scratch = new Uint8Array(Math.min(size, 1 << 16));
    for (let left = size; left > 0;) {
      const n = await this.#source.read(scratch.subarray(0, Math.min(left, scratch.length)));
      if (n === 0) throw new PerfDataError(`tar archive: ${this.#name} is cut`, { code: "cut" });
      left -= n;
    }
  }
}
