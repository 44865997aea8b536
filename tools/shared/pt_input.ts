/** Shared by commands that decode Intel PT: opening a trace, finding code, reporting errors. */
import {
  type ByteSource,
  isRandomAccess,
  PerfDataError,
  type RandomAccessSource,
} from "@perfdata/format/bytes";
import { held, PerfDataReader } from "@perfdata/format/records";
import {
  HEADER_AUXTRACE,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_AUX,
} from "@perfdata/format/constants";
import { openSource } from "@perfdata/format/files";
import { AuxCollector, readAuxTrace } from "@perfdata/session/auxtrace";
import {
  bundledCode,
  type CodeRecorder,
  missingCode,
  type OpenPtOptions,
  type PtNames,
  PtTrace,
  type TraceCode,
} from "@perfdata/pt/code";
import { lossText, type PtCounts, unsureText } from "@perfdata/pt/decode";
import {
  type CodeFiles,
  type MemoryImage,
  memoryImages,
  ObjectCodeReader,
} from "@perfdata/session/code";
import { BuildIdFolder, openCodeFile } from "@perfdata/symbols";
import { type BinarySource, type RecordedMachine, SymbolsError } from "@perfdata/symbols/resolver";
import { BundleError, defaultPlaces, openBinaryFile, openBundle } from "@perfdata/symbols/files";
import { PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";
import { UNVERIFIED_MARK } from "@perfdata/profile";
import { about, complain, Complaints, InputError } from "./cli.ts";
import { symbolFiles } from "./symbol_flags.ts";
import { notBundle } from "./not_bundle.ts";

/** The copy of the kernel's memory in a directory that `perf record --kcore` made. */
const KCORE = "kcore_dir/kcore";

/**
 * The memory that `--image` names, and what `perf record --kcore` copied.
 *
 * @throws {InputError} If a file is not one of memory.
 */
export function imagesOf(
  text: string | undefined,
  recording: string,
  recorder?: CodeRecorder,
): MemoryImage[] {
  const images = namedImages("image", text);
  // What "perf record --kcore" copied.
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
 * The memory that `--image` or `--guest-image` names.
 *
 * @throws {InputError} If a file is not one of memory.
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

/** Whether a recording has Intel PT. Most that have none are recognized by their beginning. */
export async function isIntelPt(source: RandomAccessSource): Promise<boolean> {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  // Not every writer of files sets the feature.
  const mayHave = !reader.isPipe && (reader.features.some(({ id }) => id === HEADER_AUXTRACE) ||
        reader.events.all.some(({ layout }) => (layout.sampleType & PERF_SAMPLE_AUX) !== 0)) ||
    await announcesIntelPt(reader);
  if (!mayHave) return false;
  const whole = await PerfDataReader.open(source, { diagnostics: () => {} });
  const { streams, type } = await readAuxTrace(whole, { diagnostics: () => {} });
  return streams.length > 0 && type === PERF_AUXTRACE_INTEL_PT;
}

/** Whether the records before the first that was measured say that there is Intel PT. */
async function announcesIntelPt(reader: PerfDataReader): Promise<boolean> {
  const collector = new AuxCollector(reader, { diagnostics: () => {} });
  for await (const batch of reader.batches()) {
    collector.take(batch);
    if (collector.info !== undefined) return collector.info.type === PERF_AUXTRACE_INTEL_PT;
    for (let i = 0; i < batch.count; i++) {
      const type = batch.type(i);
      if (type === PERF_RECORD_SAMPLE || type === PERF_RECORD_FINISHED_ROUND) return false;
    }
  }
  return false;
}

/** A stream that was looked into: all that came is read once more. */
export interface SeenAhead {
  /** The recording; one with Intel PT is held, so that it can be read at any place. */
  readonly source: ByteSource;
  /** Whether it has Intel PT. */
  readonly hasIntelPt: boolean;
}

/** Looks into a recording: a stream only as far as it takes to know whether Intel PT will come. */
export async function lookAhead(source: ByteSource): Promise<SeenAhead> {
  if (isRandomAccess(source)) return { source, hasIntelPt: await isIntelPt(source) };
  const seen: Uint8Array[] = [];
  const first = {
    read: async (into: Uint8Array) => {
      const n = await source.read(into);
      seen.push(into.slice(0, n));
      return n;
    },
  };
  let announced: boolean;
  try {
    announced = await announcesIntelPt(
      await PerfDataReader.open(first, { diagnostics: () => {} }),
    );
  } catch (error) {
    // Who reads it says what is wrong with it.
    if (!(error instanceof PerfDataError)) throw error;
    announced = false;
  }
  let at = 0;
  const again: ByteSource = {
    temp: source.temp,
    read: (into: Uint8Array) => {
      while (seen.length > 0) {
        const block = seen[0] as Uint8Array;
        const part = block.subarray(at, at + into.length);
        at += part.length;
        if (at === block.length) {
          seen.shift();
          at = 0;
        }
        if (part.length === 0) continue;
        into.set(part);
        return part.length;
      }
      return source.read(into);
    },
  };
  if (!announced) return { source: again, hasIntelPt: false };
  const whole = await held(again);
  return { source: whole, hasIntelPt: await isIntelPt(whole) };
}

/** A trace, and what is wrong with its recording. */
export interface OpenedPt {
  readonly trace: PtTrace;
  readonly complaints: Complaints;
}

/** How a recording with Intel PT is opened. */
interface OpenHow extends Omit<OpenPtOptions, "diagnostics" | "aux"> {
  /** Its bytes, if a part of them was read. */
  readonly opened?: ByteSource | undefined;
}

/**
 * Opens a recording with Intel PT and reads all of its records.
 *
 * @param tool Name of the command, for messages.
 * @throws {InputError} If it has no Intel PT.
 */
export async function openPt(
  tool: string,
  name: string,
  { opened = openSource(name), ...options }: OpenHow,
): Promise<OpenedPt> {
  const complaints = new Complaints(`${tool}: ${name}`);
  const source = await held(opened);
  const how = { diagnostics: complaints.take };
  const aux = await readAuxTrace(await PerfDataReader.open(source, how), how);
  if (aux.streams.length === 0 || aux.type !== PERF_AUXTRACE_INTEL_PT) {
    throw new InputError(
      aux.streams.length === 0
        ? `${name}: no AUX data; record with "perf record -e intel_pt//u -- PROGRAM"`
        : `${name}: AUX data is ${aux.typeName}, not Intel PT; extract-pt --all-aux extracts it`,
    );
  }
  const trace = await PtTrace.open(source, { ...options, ...how, aux });
  return { trace, complaints };
}

/** Opens a recording that another thread has opened, and says what is wrong with it. */
export async function openPtAgain(name: string, code: OpenPtOptions["code"]): Promise<PtTrace> {
  const diagnostics = () => {};
  return await PtTrace.open(await held(openSource(name)), { diagnostics, code });
}

/** Where the files with the code of a recording are: in a bundle, or on this machine. */
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

/** Reads the code of objects of a recording: from a bundle, from files, from copies of the kernel's memory. */
export async function objectCode(
  machine: RecordedMachine | undefined,
  where: Parameters<typeof codeFiles>[1],
  name: string,
): Promise<ObjectCodeReader> {
  const files = await codeFiles(machine, where);
  return new ObjectCodeReader(files, [...imagesOf(undefined, name), ...bundledKcore(where, files)]);
}

/** The copy of the kernel's memory in a bundle. */
function bundledKcore(
  { symbols }: Parameters<typeof codeFiles>[1],
  files: CodeFiles,
): MemoryImage[] {
  const kcore = symbols === undefined ? undefined : files.file(KCORE);
  return kcore === undefined ? [] : memoryImages(kcore);
}

/**
 * Where the code of a recording is: in the files of its binaries, or in `images`; of guests, in `guest`, or in the file
 * that `--guest-vmlinux` names.
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

/** What is to be said where the kernel's code is that of its file. */
export const KERNEL_FILE_NOTE =
  "code of the kernel is that of its file, before it changed itself: " +
  '"perf record --kcore" copies what ran';

/** Says whose names nothing verifies, and their share of all places. */
function reportUnverifiedPlaces(about: string, names: PtNames): void {
  const paths = names.unverified;
  if (paths.length === 0) return;
  const { count } = names;
  const objects = [...new Set(paths)].sort();
  const more = objects.length > 3 ? ` and ${objects.length - 3} more` : "";
  complain(
    `${about}: the functions of ${paths.length} of ${count} places ` +
      `(${(100 * paths.length / count).toFixed(2)}%) are not verified ` +
      `(in tables "${UNVERIFIED_MARK}"): no build id recorded of ` +
      objects.slice(0, 3).join(", ") + more,
  );
}

/** Where what is missing of a trace was counted. */
export interface TraceLoss {
  /** What was decoded. */
  readonly counts: PtCounts;
  /** The trace. */
  readonly trace: PtTrace;
  /** Its places, if they were named. */
  readonly names?: PtNames;
  /** What was damaged. */
  readonly complaints: Complaints;
  /** Whether its times are not shown. */
  readonly timeless?: boolean;
}

/** Reports what is missing; returns the exit code. */
export function reportLoss(
  tool: string,
  name: string,
  { counts, trace: { code, clock, sideband }, names, complaints, timeless = false }: TraceLoss,
): number {
  if (!timeless && !clock.known) {
    complain(`${tool}: ${name}: no times: ${clock.why}`);
  }
  const causes = names?.causes() ?? "";
  if (causes !== "") complain(`${tool}: ${name}: places without a function: ${causes}`);
  if (names !== undefined) reportUnverifiedPlaces(`${tool}: ${name}`, names);
  const missing = missingCode(code);
  if (missing !== "") {
    complain(`${tool}: ${name}: no code of ${missing}`);
    complain(
      `${tool}: where these files are, "perfdata symbols bundle --code" makes one of what ran; ` +
        "--symbols reads it",
    );
  }
  if (code.kernelFile !== undefined) {
    complain(`${tool}: ${name}: ${KERNEL_FILE_NOTE}`);
  }
  const [unread] = sideband.undescribed;
  if (unread !== undefined) {
    complain(`${tool}: ${name}: who ran when is not known: the format of ${unread} is missing`);
  }
  const unsure = unsureText(counts);
  if (unsure !== undefined) complain(`${tool}: ${name}: ${unsure}`);
  const loss = lossText(counts);
  if (loss !== undefined) complain(`${tool}: ${name}: ${loss}`);
  complaints.finish();
  return loss !== undefined || complaints.count > 0 ? 1 : 0;
}
