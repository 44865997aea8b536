import type { EventLoopTurns, RandomAccessSource, SyncSource } from "@perfdata/format/bytes";
import { directorySource, expandedStream, fileCompression } from "@perfdata/format/records";
import {
  bundledText,
  type ClosableSource,
  ElfFile,
  SymbolBundle,
  type SymbolFiles,
  SymbolResolver,
} from "@perfdata/symbols";
import { fileKind } from "@perfdata/format/constants";
import { IMPORTED_KIND_BYTES, type ImportedKind, importedKind } from "@perfdata/profile";
import { checkRange, type RecordedMachine, SymbolsError } from "@perfdata/symbols/resolver";
import type { CodeFiles } from "@perfdata/session/code";
import { readAhead } from "./read_ahead.ts";

/** Time in ms between two turns of the event loop, which take 4 ms each in a browser. */
export const HELD_MS = 100;
/** Maximum size of an inflated file. */
const MOST_EXPANDED = 2 ** 32;

/** Number of inflated bytes that are collected before they become a blob, which the browser keeps on disk. */
const MOST_PENDING = 2 ** 24;

/** Synchronous reads, which browsers offer in workers only. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** Creates a synchronous source for a dropped file, whose reads wait for the browser. */
function fileSource(blob: Blob): SyncSource {
  const reader = new FileReaderSync();
  return {
    size: blob.size,
    readAt(into, position) {
      const part = reader.readAsArrayBuffer(blob.slice(position, position + into.length));
      into.set(new Uint8Array(part));
      return part.byteLength;
    },
  };
}

function binarySource(blob: Blob): ClosableSource {
  const reader = new FileReaderSync();
  return {
    size: blob.size,
    read(offset, length) {
      checkRange(blob.size, offset, length);
      return new Uint8Array(reader.readAsArrayBuffer(blob.slice(offset, offset + length)));
    },
  };
}

/** Role of a dropped file. */
type Kind = "recording" | "imported" | "part" | "elf" | "bundle" | "other";

function kindOf(name: string, start: Uint8Array): Kind {
  const kind = fileKind(start);
  if (kind === "recording" || kind === "elf") return kind;
  if (kind === "symbol bundle") return "bundle";
  if (importedKind(start) !== undefined) return "imported";
  return /^data\.\d+$/.test(name) ? "part" : "other";
}

/** The dropped files by role, in a form that can be sent to other threads. */
export interface Dropped {
  readonly recording: Blob;
  readonly name: string;
  /** The kind of a profile of another tool, which is shown in place of a recording. */
  readonly imported?: ImportedKind | undefined;
  /** Further files of a recording that is a directory, in order. */
  readonly parts: readonly Blob[];
  /** Programs and debug files, with their build ids. */
  readonly elves: readonly {
    readonly name: string;
    readonly buildId: string;
    readonly blob: Blob;
  }[];
  /** Perf maps, jitdumps and other files, by name. */
  readonly others: readonly { readonly name: string; readonly blob: Blob }[];
  readonly bundle: Blob | undefined;
  /** The other recording of a comparison. */
  readonly base?: Pick<Dropped, "name" | "imported"> & { readonly blob: Blob } | undefined;
}

/**
 * Determines the role of each dropped file.
 *
 * @param isSwapped Whether the newer of two recordings is the base of the comparison.
 * @throws {Error} If there is no recording, or more than two.
 */
export async function takeFiles(files: readonly File[], isSwapped = false): Promise<Dropped> {
  const recordings: {
    name: string;
    blob: Blob;
    time: number;
    imported?: ImportedKind | undefined;
  }[] = [];
  const parts: { name: string; blob: Blob }[] = [];
  const elves: { name: string; buildId: string; blob: Blob }[] = [];
  const others: { name: string; blob: Blob }[] = [];
  let bundle: Blob | undefined;
  for (const file of files) {
    const { name, blob } = await expanded(file);
    const start = new Uint8Array(await blob.slice(0, IMPORTED_KIND_BYTES).arrayBuffer());
    switch (kindOf(name, start)) {
      case "recording":
        recordings.push({ name, blob, time: file.lastModified });
        break;
      case "imported":
        recordings.push({ name, blob, time: file.lastModified, imported: importedKind(start) });
        break;
      case "part":
        parts.push({ name, blob });
        break;
      case "elf":
        elves.push({ name, blob, buildId: buildIdOf(blob) });
        break;
      case "bundle":
        bundle = blob;
        break;
      default:
        others.push({ name, blob });
    }
  }
  // The newest recording is shown.
  recordings.sort((a, b) => isSwapped ? a.time - b.time : b.time - a.time);
  const [recording, base, ...more] = recordings;
  if (recording === undefined) {
    const names = files.slice(0, 3).map(({ name }) => name).join(", ");
    throw new Error(
      `no recording and no profile among ${files.length === 1 ? names : `${files.length} files`}`,
    );
  }
  if (more.length > 0) {
    throw new Error(`${recordings.length} recordings: at most two can be compared`);
  }
  parts.sort((a, b) => Number(a.name.slice(5)) - Number(b.name.slice(5)));
  return {
    recording: recording.blob,
    name: recording.name,
    imported: recording.imported,
    parts: parts.map(({ blob }) => blob),
    elves,
    others,
    bundle,
    base,
  };
}

/** Decompresses a file that is compressed as a whole. */
async function expanded(file: File): Promise<{ readonly name: string; readonly blob: Blob }> {
  const start = new Uint8Array(await file.slice(0, 6).arrayBuffer());
  const compression = fileCompression(start);
  // Kernel modules stay compressed; the symbol reader decompresses them.
  if (compression === undefined || /\.ko\./.test(file.name)) return { name: file.name, blob: file };
  const stream = await expandedStream(readAhead(file), compression);
  // A Response would report every error in the stream as "Failed to fetch".
  const parts: Blob[] = [];
  let size = 0;
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let pending = 0;
  const join = () => {
    parts.push(new Blob(chunks));
    chunks = [];
    pending = 0;
  };
  try {
    for await (const chunk of chunksOf(stream)) {
      size += chunk.length;
      if (size > MOST_EXPANDED) throw new Error("it expands to more than 4 GB");
      chunks.push(chunk);
      pending += chunk.length;
      if (pending > MOST_PENDING) join();
    }
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${file.name} cannot be expanded (${compression}): ${message}`, {
      cause: error,
    });
  }
  join();
  return { name: file.name.replace(/\.(gz|bz2|xz|zst)$/, ""), blob: new Blob(parts) };
}

/** Yields the chunks of a stream; some browsers cannot iterate over a stream. */
async function* chunksOf<T>(stream: ReadableStream<T>): AsyncGenerator<T, void, void> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function buildIdOf(blob: Blob): string {
  try {
    return ElfFile.open(binarySource(blob)).buildId() ?? "";
  } catch (error) {
    if (error instanceof SymbolsError) return "";
    throw error;
  }
}

export function recordingSource({ recording, parts }: Dropped): RandomAccessSource {
  return parts.length === 0
    ? readAhead(recording)
    : directorySource(fileSource(recording), parts.map(fileSource));
}

/** Returns the lookup of symbol files: by build id, else by the last part of the path. */
export function symbolFiles({ elves, others }: Dropped): SymbolFiles {
  const find = (path: string): Blob | undefined => {
    const [, first, rest] = /\/\.build-id\/([0-9a-f]{2})\/([0-9a-f]+)/.exec(path) ?? [];
    if (first !== undefined && rest !== undefined) {
      return elves.find(({ buildId }) => buildId === first + rest)?.blob;
    }
    const last = path.slice(path.lastIndexOf("/") + 1);
    return [...elves, ...others].find(({ name }) => name === last)?.blob;
  };
  return {
    open(path) {
      const blob = find(path);
      return blob === undefined ? undefined : binarySource(blob);
    },
    read(path, limit = Infinity) {
      const blob = find(path);
      if (blob === undefined) return undefined;
      if (blob.size > limit) throw new SymbolsError(limit, `${path} has more than ${limit} bytes`);
      return binarySource(blob).read(0, blob.size);
    },
  };
}

/** Bundles that were opened. */
const bundles = new WeakMap<Blob, SymbolBundle>();

export function openBundle({ bundle }: Dropped): SymbolBundle | undefined {
  if (bundle === undefined) return undefined;
  let opened = bundles.get(bundle);
  if (opened === undefined) {
    opened = SymbolBundle.open(binarySource(bundle).read(0, bundle.size));
    bundles.set(bundle, opened);
  }
  return opened;
}

export function resolverOf(
  dropped: Dropped,
  { recorded }: { readonly recorded: RecordedMachine | undefined },
  turn?: EventLoopTurns["turn"],
): SymbolResolver {
  const bundle = openBundle(dropped);
  const has = (name: string) => dropped.others.some((other) => other.name === name);
  return new SymbolResolver(symbolFiles(dropped), {
    machine: recorded,
    parameters: false,
    ...(turn === undefined ? {} : { turn }),
    ...(bundle === undefined ? {} : { bundle }),
    ...(has("kallsyms") ? { kallsyms: "kallsyms" } : {}),
    ...(dropped.elves.some(({ name }) => name === "vmlinux") ? { vmlinux: "vmlinux" } : {}),
  });
}

/** Maximum size of a source file in bytes. */
const MOST_SOURCE = 1 << 24;

/** Returns the lines of a dropped source file, found by the last part of its path, or of one in the bundle. */
export function sourceLines(dropped: Dropped, path: string): readonly string[] | undefined {
  const last = path.slice(path.lastIndexOf("/") + 1);
  const file = dropped.others.find(({ name }) => name === last)?.blob;
  const text = file === undefined || file.size > MOST_SOURCE
    ? bundledText(openBundle(dropped)?.code ?? [], path)
    : new TextDecoder().decode(binarySource(file).read(0, file.size));
  return text?.replaceAll("\t", "        ").split(/\r?\n/);
}

/** Returns the code of objects: from dropped programs, if they are the recorded ones. */
export function droppedCode(dropped: Dropped): CodeFiles {
  const files = symbolFiles(dropped);
  return {
    open(object) {
      const { path, buildId } = object;
      const last = path.slice(path.lastIndexOf("/") + 1);
      const found = dropped.elves.find((elf) => buildId !== undefined && elf.buildId === buildId) ??
        dropped.elves.find(({ name }) => name === last);
      if (found === undefined) return { missing: "file missing: drop the program as well" };
      if (buildId !== undefined && found.buildId !== "" && found.buildId !== buildId) {
        return { missing: `${found.name} is of another build` };
      }
      return { source: binarySource(found.blob) };
    },
    file: (path) => files.open(path),
  };
}
