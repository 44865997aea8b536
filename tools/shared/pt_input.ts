/** Shared by commands that decode Intel PT: opens traces, locates code, reports errors. */
import type { ByteSource } from "@perfdata/format/bytes";
import { held, PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import {
  bundledCode,
  type CodeRecorder,
  openIntelPt,
  type OpenPtOptions,
  type PtCounts,
  ptLoss,
  type PtNames,
  PtTrace,
  type TraceCode,
} from "@perfdata/pt/decode";
import {
  type CodeFiles,
  type MemoryImage,
  memoryImages,
  ObjectCodeReader,
} from "@perfdata/session/code";
import { BuildIdFolder, openCodeFile } from "@perfdata/symbols";
import { type BinarySource, type RecordedMachine, SymbolsError } from "@perfdata/symbols/resolver";
import { BundleError, defaultPlaces, openBinaryFile, openBundle } from "@perfdata/symbols/files";
import { about, Complaints, InputError } from "./cli.ts";
import { symbolFiles } from "./symbol_flags.ts";
import { notBundle } from "./not_bundle.ts";
import { printLoss } from "./trace_loss.ts";

/** The path of the kernel memory copy in a directory of `perf record --kcore`. */
const KCORE = "kcore_dir/kcore";

/**
 * The memory images of `--image`, and the copy by `perf record --kcore`.
 *
 * @throws {InputError} If a file is not a memory image.
 */
export function imagesOf(
  text: string | undefined,
  recording: string,
  recorder?: CodeRecorder,
): MemoryImage[] {
  const images = namedImages("image", text);
  // The copy by `perf record --kcore`.
  const kcore = `${recording}/${KCORE}`;
  try {
    if (Deno.statSync(kcore).isFile) {
      const source = about(kcore, () => openBinaryFile(kcore));
      images.push(...imagesIn(kcore, recorder?.note(KCORE, "", source) ?? source));
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory)) {
      throw error;
    }
  }
  return images;
}

/**
 * Opens the memory images in the value of `--image` or `--guest-image`.
 *
 * @throws {InputError} If a file is not a memory image.
 */
export function namedImages(flag: string, text: string | undefined): MemoryImage[] {
  return (text?.split(",") ?? []).flatMap((part) => {
    const [, path = part, hex] = /^(.*)@(0x[0-9a-f]+|[0-9a-f]+)$/i.exec(part) ?? [];
    const address = hex === undefined ? undefined : BigInt(`0x${hex.replace(/^0x/i, "")}`);
    const source = about(path, () => openBinaryFile(path));
    return imagesIn(`--${flag} ${path}`, source, address, path);
  });
}

function imagesIn(
  what: string,
  source: BinarySource,
  address?: bigint,
  path?: string,
): MemoryImage[] {
  try {
    return memoryImages(source, address, path);
  } catch (error) {
    if (error instanceof SymbolsError) throw new InputError(`${what}: ${error.message}`);
    throw error;
  }
}

/** A trace, and the errors in its recording. */
export interface OpenedPt {
  readonly trace: PtTrace;
  readonly complaints: Complaints;
}

interface OpenHow extends Omit<OpenPtOptions, "diagnostics" | "aux"> {
  /** The bytes, if a part of them has been read. */
  readonly opened?: ByteSource | undefined;
}

/**
 * Opens a recording with Intel PT, and reads all its records.
 *
 * @param tool The command's name, for messages.
 * @throws {PerfDataError} If it has no Intel PT.
 */
export async function openPt(
  tool: string,
  name: string,
  { opened = openSource(name), ...options }: OpenHow,
): Promise<OpenedPt> {
  const complaints = new Complaints(`${tool}: ${name}`);
  const source = await held(opened);
  const how = { diagnostics: complaints.take };
  const reader = await PerfDataReader.open(source, how);
  return { trace: await openIntelPt(reader, source, { ...options, ...how }), complaints };
}

/** Opens a recording in a worker. The first thread has reported its errors. */
export async function openPtAgain(name: string, code: OpenPtOptions["code"]): Promise<PtTrace> {
  const diagnostics = () => {};
  return await PtTrace.open(await held(openSource(name)), { diagnostics, code });
}

/** Locates the code files of a recording: in a bundle, or on this machine. */
export async function codeFiles(
  machine: RecordedMachine | undefined,
  { symfs, symbols, vmlinux, "guest-vmlinux": guestVmlinux, guestmount }: {
    readonly symfs?: string | undefined;
    readonly symbols?: string | undefined;
    readonly vmlinux?: string | undefined;
    readonly "guest-vmlinux"?: string | undefined;
    readonly guestmount?: string | undefined;
  },
): Promise<CodeFiles> {
  const found = await symbolFiles(symfs);
  const places = {
    ...defaultPlaces(),
    arch: machine?.arch,
    release: machine?.release,
    ...(symfs === undefined ? {} : { symfs, byBuildId: new BuildIdFolder(found, symfs) }),
    vmlinux,
    guestVmlinux,
    guestMount: guestmount,
  };
  const local: CodeFiles = {
    open: (object) => openCodeFile(found, object, places),
    file: (path) =>
      found.open(path.startsWith("/") ? `${symfs?.replace(/\/$/, "") ?? ""}${path}` : path),
  };
  if (symbols === undefined) return local;
  try {
    return bundledCode(about(symbols, () => openBundle(symbols)), local);
  } catch (error) {
    throw error instanceof BundleError ? notBundle(symbols, error) : error;
  }
}

/** Opens the code of a recording's objects: from a bundle, files or kernel memory copies. */
export async function objectCode(
  machine: RecordedMachine | undefined,
  where: Parameters<typeof codeFiles>[1],
  name: string,
): Promise<ObjectCodeReader> {
  const files = await codeFiles(machine, where);
  return new ObjectCodeReader(files, [...imagesOf(undefined, name), ...bundledKcore(where, files)]);
}

/** The kernel memory copy in a bundle. */
function bundledKcore(
  { symbols }: Parameters<typeof codeFiles>[1],
  files: CodeFiles,
): MemoryImage[] {
  const kcore = symbols === undefined ? undefined : files.file(KCORE);
  return kcore === undefined ? [] : memoryImages(kcore);
}

/**
 * Opens the code for decoding: binaries and `images`; for guests, `guest` or the file of
 * `--guest-vmlinux`.
 */
export async function codeOf(
  recorded: RecordedMachine,
  where: Parameters<typeof codeFiles>[1],
  images: readonly MemoryImage[],
  guest: readonly MemoryImage[] = [],
): Promise<TraceCode> {
  const files = await codeFiles(recorded, where);
  return {
    files,
    images: [...images, ...bundledKcore(where, files)],
    guestImages: guest.length > 0 ? guest : namedImages("guest-vmlinux", where["guest-vmlinux"]),
  };
}

/** The inputs of {@link reportLoss}. */
export interface TraceLoss {
  readonly counts: PtCounts;
  readonly trace: PtTrace;
  /** Names of the places, if they were looked up. */
  readonly names?: PtNames;
  /** Errors in the recording. */
  readonly complaints: Complaints;
  /** Whether the output has no times. */
  readonly timeless?: boolean;
}

/** Prints what could not be decoded, and returns the exit code. */
export function reportLoss(
  tool: string,
  name: string,
  { counts, trace, names, complaints, timeless }: TraceLoss,
): number {
  return printLoss(tool, name, ptLoss(counts, trace, names, timeless), complaints) ? 0 : 1;
}
