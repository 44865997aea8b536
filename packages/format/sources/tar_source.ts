import { PerfDataError } from "../error.ts";
import { fileKind } from "../header/file_kind.ts";
import type { StreamSource } from "./source.ts";

/** Size of a header in bytes; contents are padded to a multiple of this. */
const BLOCK = 512;
/** Type flags of regular files. Other members are folders, links and metadata. */
const REGULAR = new Set(["0", "\0", "7"]);
/** Type flags of members with the long name of the next member: of GNU tar, of POSIX pax. */
const NAMES = new Set(["L", "x"]);
const LONGEST_NAME = 1 << 16;
/** Maximum number of names in an error message. */
const LISTED = 5;

/**
 * Whether a file begins like a tar archive (POSIX ustar or GNU): with the header of a member.
 *
 * @param start The first 512 bytes.
 *
 * @example
 * ```ts
 * import { isTar } from "@perfdata/format/records";
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

/** Parses the size of a member: octal digits, or base 256 if the first bit is set. */
function sizeOf(header: Uint8Array): number {
  const first = header[124] as number;
  if ((first & 0x80) === 0) return parseInt(text(header, 124, 12) || "0", 8);
  let size = first & 0x7f;
  for (let i = 125; i < 136; i++) size = size * 256 + (header[i] as number);
  return size;
}

/**
 * Extracts the recording from a stream that is a tar archive; passes on any other stream.
 * Other members are skipped.
 *
 * An archive without a recording, or with two of them, is a `PerfDataError`.
 *
 * @example
 * ```ts
 * import { recordingInTar } from "@perfdata/format/records";
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
  /** Bytes read to detect the format, which the next reads return. */
  #ahead: Uint8Array = new Uint8Array(0);
  #state: "plain" | "member" = "plain";
  /** Result of the search for the recording, which runs once: all reads get its error. */
  #begun: Promise<void> | undefined;
  /** Bytes of the recording still to be returned. */
  #left = 0;
  #name = "";

  constructor(source: StreamSource) {
    this.#source = source;
    this.#archive = new TarReader(source);
  }

  async read(into: Uint8Array): Promise<number> {
    await (this.#begun ??= this.#findRecording());
    if (into.length === 0) return 0;
    if (this.#ahead.length > 0) {
      const part = this.#ahead.subarray(0, into.length);
      into.set(part);
      this.#ahead = this.#ahead.subarray(part.length);
      if (this.#state === "member") await this.#countReturned(part.length);
      return part.length;
    }
    if (this.#state === "plain") return await this.#source.read(into);
    if (this.#left === 0) return 0;
    const n = await this.#archive.read(into);
    await this.#countReturned(n);
    return n;
  }

  async #findRecording(): Promise<void> {
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

  /** Searches for a recording from the current member on; returns whether there is one. */
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

  /** Counts returned bytes; after the last one, searches for a second recording. */
  async #countReturned(n: number): Promise<void> {
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
  /** Path of the member. */
  readonly name: string;
  /** Size of its contents in bytes. */
  readonly size: number;
  /** Whether the member is a regular file. */
  readonly isFile: boolean;
  /** Offset of its contents in the archive. */
  readonly offset: number;
}

/** A stream with an optional way to skip bytes. */
export interface SkippableSource extends StreamSource {
  /** Skips this many bytes, or all that are left. */
  skip?(size: number): void;
}

/**
 * Reads a tar archive (POSIX ustar and pax, or GNU) member by member.
 *
 * @example
 * ```ts
 * import { TarReader } from "@perfdata/format/records";
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
  /** Bytes of the current member that are unread, without its padding. */
  #left = 0;
  #padding = 0;
  #name = "";
  /** The bytes read, if the stream is not an archive; `undefined` for an archive. */
  ahead: Uint8Array | undefined;

  /** Creates a reader; reads nothing. */
  constructor(source: SkippableSource) {
    this.#source = source;
  }

  /**
   * Moves to the next member; returns `undefined` after the last one.
   *
   * @throws {PerfDataError} If the archive is damaged, or cut within the member before.
   */
  async next(): Promise<TarMember | undefined> {
    let longName: string | undefined;
    for (;;) {
      await this.#skip(this.#left + this.#padding);
      const isFirst = this.#position === 0;
      const header = await this.#readUpTo(BLOCK);
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
   * Reads the next contents of the member: up to the size of `into`, 0 bytes at the end.
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

  /** Reads `size` bytes, or fewer at the end. */
  async #readUpTo(size: number): Promise<Uint8Array> {
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

/** Returns the path in a POSIX extended header, which has lines of `LENGTH KEY=VALUE`. */
function paxPath(bytes: Uint8Array): string | undefined {
  return /(?:^|\n)\d+ path=(.*)\n/.exec(new TextDecoder().decode(bytes))?.[1];
}
