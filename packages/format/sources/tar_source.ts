import { PerfDataError } from "../error.ts";
import { fileKind } from "../header/file_kind.ts";
import type { StreamSource } from "./source.ts";

/** Size of a header in bytes; contents are padded to a multiple of it. */
const BLOCK = 512;
/** Members of a tar archive that hold files; all others are folders, links and what describes them. */
const REGULAR = new Set(["0", "\0", "7"]);
/** Members that hold the name of the one after them, where that is long: those of GNU, and of POSIX. */
const NAMES = new Set(["L", "x"]);
const LONGEST_NAME = 1 << 16;
/** Maximum number of names that a message lists. */
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
  return fileKind(start) === "tar";
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
  readonly #archive: TarReader;
  /** What was read to look at it, and has to be given out. */
  #ahead: Uint8Array = new Uint8Array(0);
  #state: "plain" | "member" = "plain";
  /** Looks for the recording, once: if there is none, each read says so. */
  #begun: Promise<void> | undefined;
  /** Bytes of the member that are left to be given out. */
  #left = 0;
  #name = "";

  constructor(source: StreamSource) {
    this.#source = source;
    this.#archive = new TarReader(source);
  }

  async read(into: Uint8Array): Promise<number> {
    await (this.#begun ??= this.#begin());
    if (into.length === 0) return 0;
    if (this.#ahead.length > 0) {
      const part = this.#ahead.subarray(0, into.length);
      into.set(part);
      this.#ahead = this.#ahead.subarray(part.length);
      if (this.#state === "member") await this.#given(part.length);
      return part.length;
    }
    if (this.#state === "plain") return await this.#source.read(into);
    if (this.#left === 0) return 0;
    const n = await this.#archive.read(into);
    await this.#given(n);
    return n;
  }

  async #begin(): Promise<void> {
    const others: string[] = [];
    if (await this.#next(others)) {
      this.#state = "member";
      return;
    }
    if (this.#archive.ahead !== undefined) {
      this.#ahead = this.#archive.ahead;
      return;
    }
    const more = others.length > LISTED ? ` and ${others.length - LISTED} more` : "";
    throw new PerfDataError(
      others.length === 0
        ? "tar archive: it is empty, expected a recording in it"
        : `tar archive: none of ${others.slice(0, LISTED).join(", ")}${more} is a recording`,
    );
  }

  /** Looks for a recording from here on; whether there is one. */
  async #next(others: string[]): Promise<boolean> {
    for (let member = await this.#archive.next(); member; member = await this.#archive.next()) {
      if (!member.isFile) continue;
      const start = new Uint8Array(8);
      const length = await this.#archive.read(start);
      this.#name = member.name;
      if (fileKind(start) === "recording") {
        this.#ahead = start.subarray(0, length);
        this.#left = member.size;
        return true;
      }
      others.push(member.name);
    }
    return false;
  }

  /** After the recording, with its last byte, since nobody need read beyond it: a second one is not passed over in silence. */
  async #given(n: number): Promise<void> {
    this.#left -= n;
    if (this.#left > 0) return;
    const name = this.#name;
    if (!await this.#next([])) return;
    throw new PerfDataError(
      `tar archive: it has ${this.#name} as well as ${name}, expected one recording: extract them`,
    );
  }
}

/** A file, folder or link in a tar archive. */
export interface TarMember {
  /** Its path. */
  readonly name: string;
  /** Bytes of its contents. */
  readonly size: number;
  /** Whether it is a regular file. */
  readonly isFile: boolean;
  /** Where its contents begin in the archive. */
  readonly offset: number;
}

/** A stream some of which need not be read. */
export interface SkippableSource extends StreamSource {
  /** Leaves out this many bytes, or those that are left. */
  skip?(size: number): void;
}

/**
 * Reads a tar archive (POSIX ustar and pax, or that of GNU), member by member.
 *
 * @example
 * ```ts
 * import { TarReader } from "@perfdata/format/tar-source";
 * import { streamSource } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const reader = new TarReader(streamSource(new Blob(["no archive"]).stream()));
 * assertEquals(await reader.next(), undefined);
 * assertEquals(reader.ahead?.length, 10);
 * ```
 */
export class TarReader {
  readonly #source: SkippableSource;
  #position = 0;
  /** Bytes of the member that are left to be read of the source, and of its padding. */
  #left = 0;
  #padding = 0;
  #name = "";
  /** What was read if no archive begins; `undefined` in one. */
  ahead: Uint8Array | undefined;

  /** Reads nothing yet. */
  constructor(source: SkippableSource) {
    this.#source = source;
  }

  /**
   * Goes on to the next member; `undefined` after the last one.
   *
   * @throws {PerfDataError} If the archive is cut within the one before, or damaged.
   */
  async next(): Promise<TarMember | undefined> {
    let longName: string | undefined;
    for (;;) {
      await this.#skip(this.#left + this.#padding);
      const isFirst = this.#position === 0;
      const header = await this.#some(BLOCK);
      this.#left = this.#padding = 0;
      if (!isTar(header)) {
        if (isFirst) this.ahead = header;
        return undefined;
      }
      const size = sizeOf(header);
      const short = [text(header, 345, 155), text(header, 0, 100)].filter((part) => part !== "");
      this.#name = longName ?? short.join("/");
      if (!Number.isSafeInteger(size)) {
        throw new PerfDataError(`tar archive: size of ${this.#name}`);
      }
      this.#left = size;
      this.#padding = (BLOCK - size % BLOCK) % BLOCK;
      const type = String.fromCharCode(header[156] as number);
      if (NAMES.has(type) && size <= LONGEST_NAME) {
        const bytes = new Uint8Array(size);
        await this.read(bytes);
        longName = type === "x" ? paxPath(bytes) ?? longName : text(bytes, 0, size);
        continue;
      }
      return { name: this.#name, size, isFile: REGULAR.has(type), offset: this.#position };
    }
  }

  /**
   * Reads on in the contents of the member: as much as `into` holds, or less at their end.
   *
   * @throws {PerfDataError} If the archive is cut.
   */
  async read(into: Uint8Array): Promise<number> {
    const wanted = Math.min(into.length, this.#left);
    let done = 0;
    while (done < wanted) {
      const n = await this.#source.read(into.subarray(done, wanted));
      if (n === 0) throw this.#cut();
      done += n;
    }
    this.#left -= done;
    this.#position += done;
    return done;
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
    this.#position += length;
    return bytes.subarray(0, length);
  }

  async #skip(size: number): Promise<void> {
    this.#position += size;
    if (this.#source.skip !== undefined) return this.#source.skip(size);
    const scratch = new Uint8Array(Math.min(size, 1 << 16));
    for (let left = size; left > 0;) {
      const n = await this.#source.read(scratch.subarray(0, Math.min(left, scratch.length)));
      if (n === 0) throw this.#cut();
      left -= n;
    }
  }

  #cut(): PerfDataError {
    return new PerfDataError(`tar archive: ${this.#name} is cut`, { code: "cut" });
  }
}

/** The path in an extended header of POSIX: lines of `LENGTH KEY=VALUE`. */
function paxPath(bytes: Uint8Array): string | undefined {
  return /(?:^|\n)\d+ path=(.*)\n/.exec(new TextDecoder().decode(bytes))?.[1];
}
