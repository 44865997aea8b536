import { fileKind } from "@perfdata/format/constants";
import {
  expandedSource,
  fileCompression,
  isTar,
  type SkippableSource,
  type TarMember,
  TarReader,
} from "@perfdata/format/records";
import { bytesSource, sliceSource } from "./binary_source.ts";
import { SymbolsError } from "../errors.ts";
import type { ClosableSource, FolderEntry, SymbolFiles } from "./symbol_files.ts";

/** Limit of the memory for the files of a compressed archive. */
const MOST_BYTES = 2 ** 30;
/** Size of the header by which a tar archive is recognized. */
const HEADER = 512;

/** Options of {@linkcode archiveFiles}. */
export interface ArchiveOptions {
  /** Limit of the bytes of files stored from a compressed archive: 1 GB by default. */
  readonly mostBytes?: number;
}

/**
 * The files of a tar archive, such as `perf archive` makes. A file's path is the path of the
 * archive and its own: `perf.data.tar.bz2/usr/bin/a`. If the archive is compressed (gzip, bzip2, xz
 * or zstd), its ELF files and copies of kallsyms are stored in memory. Other paths are passed on to
 * `files`.
 *
 * @returns `undefined` if there is no such file, or it is not an archive
 * @throws {SymbolsError} If the archive is damaged, or expands beyond the limit.
 *
 * @example
 * ```ts
 * import { archiveFiles } from "@perfdata/symbols";
 * import { bytesSource } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * const files = { open: () => bytesSource(new TextEncoder().encode("text")), read: () => undefined };
 * assertEquals(await archiveFiles("notes.txt", files), undefined);
 * ```
 */
export async function archiveFiles(
  path: string,
  files: SymbolFiles,
  { mostBytes = MOST_BYTES }: ArchiveOptions = {},
): Promise<SymbolFiles | undefined> {
  const source = files.open(path);
  if (source === undefined) return undefined;
  const compression = fileCompression(source.read(0, Math.min(6, source.size)));
  const members = new Map<string, ClosableSource>();
  let isArchive = false;
  try {
    if (compression === undefined) {
      isArchive = isTar(source.read(0, Math.min(HEADER, source.size)));
      if (!isArchive) return undefined;
      for await (const { name, size, offset } of membersOf(new TarReader(sequential(source)))) {
        if (offset + size > source.size) throw new SymbolsError(offset, `${name} is cut`);
        members.set(name, sliceSource(source, offset, size));
      }
    } else {
      const failed = (message: string) => new SymbolsError(0, message);
      const readAt = (into: Uint8Array, at: number): number => {
        const part = source.read(at, Math.min(into.length, source.size - at));
        into.set(part);
        return part.length;
      };
      const expanded = expandedSource({ size: source.size, readAt }, compression, failed);
      const reader = new TarReader(expanded);
      let left = mostBytes;
      for await (const { name, size } of membersOf(reader)) {
        const start = new Uint8Array(Math.min(size, 4));
        await reader.read(start);
        if (!isElf(start) && !name.endsWith("/kallsyms")) continue;
        left -= size;
        if (left < 0) throw new SymbolsError(0, `its files have more than ${mostBytes} bytes`);
        const bytes = new Uint8Array(size);
        bytes.set(start);
        await reader.read(bytes.subarray(start.length));
        members.set(name, bytesSource(bytes));
      }
      isArchive = reader.ahead === undefined;
      if (!isArchive) return undefined;
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new SymbolsError(0, `${path}: ${error.message}`, { cause: error });
  } finally {
    if (!isArchive || compression !== undefined) source.close?.();
  }
  return new ArchiveFiles(path, members, files);
}

function isElf(start: Uint8Array): boolean {
  return fileKind(start) === "elf";
}

/** A file as a stream with a cheap skip. */
function sequential(source: ClosableSource): SkippableSource {
  let at = 0;
  return {
    read(into) {
      const part = source.read(at, Math.max(0, Math.min(into.length, source.size - at)));
      into.set(part);
      at += part.length;
      return part.length;
    },
    skip: (size) => {
      at = Math.min(source.size, at + size);
    },
  };
}

/** The regular files of an archive. Names that lead out of it are skipped. */
async function* membersOf(reader: TarReader): AsyncGenerator<TarMember, void, void> {
  for (let member = await reader.next(); member !== undefined; member = await reader.next()) {
    const parts = member.name.split("/").filter((part) => part !== "" && part !== ".");
    if (member.isFile && !parts.includes("..")) yield { ...member, name: parts.join("/") };
  }
}

class ArchiveFiles implements SymbolFiles {
  readonly #prefix: string;
  readonly #members: ReadonlyMap<string, ClosableSource>;
  readonly #folders = new Map<string, Map<string, FolderEntry>>();
  readonly #files: SymbolFiles;
  readonly isForeign: (path: string) => boolean;

  constructor(path: string, members: ReadonlyMap<string, ClosableSource>, files: SymbolFiles) {
    this.#prefix = `${path}/`;
    this.#members = members;
    this.#files = files;
    this.isForeign = (path) => this.#inside(path) === undefined && files.isForeign?.(path) === true;
    for (const name of members.keys()) {
      const parts = name.split("/");
      for (let i = 0; i < parts.length; i++) {
        const folder = parts.slice(0, i).join("/");
        const entries = this.#folders.get(folder) ?? new Map<string, FolderEntry>();
        const entry = parts[i] as string;
        entries.set(entry, { name: entry, isFolder: i < parts.length - 1 });
        this.#folders.set(folder, entries);
      }
    }
  }

  open(path: string): ClosableSource | undefined {
    const name = this.#inside(path);
    return name === undefined ? this.#files.open(path) : this.#members.get(name);
  }

  read(path: string, limit = Infinity): Uint8Array | undefined {
    const name = this.#inside(path);
    if (name === undefined) return this.#files.read(path, limit);
    const member = this.#members.get(name);
    if (member === undefined) return undefined;
    if (member.size <= limit) return member.read(0, member.size);
    throw new SymbolsError(
      0,
      `${path} has ${member.size} bytes, more than the ${limit} that are read`,
    );
  }

  list(folder: string): readonly FolderEntry[] {
    const name = this.#inside(`${folder}/`);
    return name === undefined
      ? this.#files.list?.(folder) ?? []
      : [...this.#folders.get(name)?.values() ?? []];
  }

  /** The name within the archive; `undefined` for paths outside of it. */
  #inside(path: string): string | undefined {
    if (!path.startsWith(this.#prefix)) return undefined;
    return path.slice(this.#prefix.length).replace(/^\/+|(?<!\/)\/+$/g, "");
  }
}
