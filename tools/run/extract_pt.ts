/** Runs `extract-pt`. */
import { alignedRows, visible } from "@perfdata/format/bytes";
import { type NewFile, type NewFolder, newFolder, openSource } from "@perfdata/format/files";
import {
  auxFlagNames,
  auxManifest,
  type AuxPiece,
  type AuxStream,
  auxStreamBytes,
  type AuxTrace,
} from "@perfdata/session/auxtrace";
import type { CopiedAux, Recording } from "@perfdata/perfdata";
import { copyAuxToFiles } from "@perfdata/perfdata/workers";
import { PERF_AUXTRACE_INTEL_PT, PERF_AUXTRACE_NAMES } from "@perfdata/user-records";
import {
  about,
  aboutAsync,
  giveUpWriting,
  InputError,
  oneFile,
  openOutput,
  UsageError,
  writeOut,
  writeOutput,
} from "../shared/cli.ts";
import { openRecording } from "../shared/open_recording.ts";
import { parseNumbers } from "../shared/sample_flags.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { writePtxedFiles } from "../shared/ptxed.ts";
import type { FLAGS } from "../extract_pt.ts";

/** File name extensions by kind of AUX data. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  INTEL_PT: "pt",
  INTEL_BTS: "bts",
  CS_ETM: "etm",
  ARM_SPE: "spe",
  S390_CPUMSF: "cpumsf",
  HISI_PTT: "ptt",
  VPA_DTL: "dtl",
};

/** The parsed flags. */
interface Wish {
  readonly file: string;
  /** The output directory, or `-` for standard output. */
  readonly output: string;
  readonly cpus: ReadonlySet<number> | undefined;
  readonly tids: ReadonlySet<number> | undefined;
  readonly list: boolean;
  readonly json: boolean;
  readonly force: boolean;
  readonly raw: boolean;
  readonly allAux: boolean;
  readonly ptxed: boolean;
  readonly symfs: string | undefined;
}

function wishOf({ on, value, operands }: FlagsOf<typeof FLAGS>): Wish {
  const file = oneFile(operands);
  if (value.output === "-" && (on.list || on.json || on.ptxed)) {
    throw new UsageError("-o - excludes --list, --json and --ptxed");
  }
  if (value.output === "-" && Deno.stdout.isTerminal()) {
    throw new UsageError("-o - writes binary data, and standard output is a terminal");
  }
  if (on.ptxed && file === "-") {
    throw new UsageError("--ptxed reads the recording twice, so that it cannot be a pipe");
  }
  return {
    file,
    output: value.output ?? ".",
    cpus: value.cpu === undefined ? undefined : parseNumbers("cpu", value.cpu),
    tids: value.tid === undefined ? undefined : parseNumbers("tid", value.tid),
    list: on.list,
    json: on.json,
    force: on.force,
    raw: on.raw,
    allAux: on["all-aux"],
    ptxed: on.ptxed,
    symfs: value.symfs,
  };
}

/** Whether `--cpu` and `--tid` select the stream. */
function wants(wish: Wish, stream: AuxStream): boolean {
  if (wish.cpus === undefined && wish.tids === undefined) return true;
  return (stream.cpu !== undefined && wish.cpus?.has(stream.cpu)) ||
    (stream.tid !== undefined && wish.tids?.has(stream.tid)) || false;
}

/** The part of a file name that tells the stream: `cpu0`, `tid42`. */
function streamName({ cpu, tid }: AuxStream): string {
  return cpu !== undefined ? `cpu${cpu}` : `tid${tid ?? -1}`;
}

/** Chooses the names of output files. */
class Names {
  readonly #folder: string;
  readonly #base: string;
  readonly #names = new Map<AuxStream, string>();

  constructor(wish: Wish) {
    this.#folder = wish.output.replace(/(?<=[^/])\/+$/, "");
    this.#base = wish.file === "-" ? "stdin" : wish.file.replace(/^.*\//, "");
  }

  /** The file name of a stream, such as `perf.data.cpu0.pt`. */
  of(stream: AuxStream, type: number): string {
    let name = this.#names.get(stream);
    if (name === undefined) {
      const stem = `${this.#base}.${streamName(stream)}`;
      const extension = extensionOf(type);
      name = `${stem}.${extension}`;
      // A CPU has two buffers if two events trace it.
      if ([...this.#names.values()].includes(name)) name = `${stem}.idx${stream.idx}.${extension}`;
      this.#names.set(stream, name);
    }
    return name;
  }

  /** The part of a stream's file name between the base and the extension: `cpu0`. */
  stem(stream: AuxStream, type: number): string {
    return this.of(stream, type).slice(this.#base.length + 1, -extensionOf(type).length - 1);
  }

  /** The path of an additional file: `cpu0` and `opts` give `perf.data.cpu0.opts`. */
  other(stem: string, extension: string): string {
    return this.path([this.#base, stem, extension].filter((part) => part !== "").join("."));
  }

  /** The file name of the manifest. */
  manifest(type: number): string {
    return `${this.#base}.${extensionOf(type)}.json`;
  }

  /** The file name of a stream, if {@link Names.of} chose it before. */
  known(stream: AuxStream): string | undefined {
    return this.#names.get(stream);
  }

  /** The path of a file name in the output directory. */
  path(name: string): string {
    return this.#folder === "." ? name : `${this.#folder}/${name}`;
  }
}

function extensionOf(type: number): string {
  return EXTENSIONS[PERF_AUXTRACE_NAMES[type] ?? ""] ?? "aux";
}

/**
 * Checks the kind of the AUX data.
 *
 * @throws {InputError} If it is not Intel PT, unless `--all-aux` is given without `--ptxed`.
 */
function checkType(wish: Wish, type: number): void {
  if (wish.ptxed && type !== PERF_AUXTRACE_INTEL_PT) {
    throw new InputError(`${wish.file}: AUX data is not Intel PT, which --ptxed is for`);
  }
  if (type === PERF_AUXTRACE_INTEL_PT || wish.allAux) return;
  const name = type === 0 ? "of an unknown kind" : PERF_AUXTRACE_NAMES[type]?.toLowerCase() ?? type;
  throw new InputError(`${wish.file}: AUX data is ${name}, not Intel PT; --all-aux extracts it`);
}

/**
 * The streams that the flags select.
 *
 * @throws {InputError} If there is no AUX data, or the flags select no stream of it.
 */
function chosen(wish: Wish, trace: AuxTrace): AuxStream[] {
  const { streams } = trace;
  if (streams.length === 0) {
    if (trace.info !== undefined) {
      const otherKind = trace.type === PERF_AUXTRACE_INTEL_PT || wish.allAux
        ? ""
        : "; with data it would need --all-aux";
      throw new InputError(
        `${wish.file}: AUXTRACE_INFO announces ${trace.typeName}, but no data follows${otherKind}`,
      );
    }
    throw new InputError(
      `${wish.file}: no AUX data; record with "perf record -e intel_pt//u -- PROGRAM" ` +
        "on an Intel CPU that has Processor Trace",
    );
  }
  checkType(wish, trace.type);
  const found = streams.filter((stream) => wants(wish, stream));
  if (found.length === 0) {
    throw new InputError(
      `${wish.file}: no such AUX data; there ${streams.length === 1 ? "is" : "are"} ${
        streamNames(streams)
      }`,
    );
  }
  return found;
}

function streamNames(streams: readonly AuxStream[]): string {
  const names = streams.slice(0, 16).map(streamName);
  return names.join(", ") + (streams.length > names.length ? ", …" : "");
}

/** The open output files. */
class Outputs implements Disposable {
  readonly names: Names;
  readonly #wish: Wish;
  readonly #made: NewFolder[] = [];
  readonly #open = new Map<string, NewFile>();
  #streams = 0;

  constructor(wish: Wish) {
    this.#wish = wish;
    this.names = new Names(wish);
  }

  /**
   * Creates the directory.
   *
   * @throws {InputError} If a file exists and `--force` is not given.
   */
  prepare(type: number, streams: readonly AuxStream[]): void {
    const { output, force, list, file, ptxed } = this.#wish;
    this.#streams += streams.length;
    if (output === "-") {
      if (this.#streams <= 1) return;
      const what = streams.length > 1 ? streamNames(streams) : "more than one stream";
      throw new InputError(
        `${file}: there are ${what}, and -o - takes one: choose it with --cpu or --tid`,
      );
    }
    if (list) return;
    this.#made.push(about(output, () => newFolder(output)));
    if (force) return;
    const { names } = this;
    const files = [...streams.map((stream) => names.of(stream, type)), names.manifest(type)];
    const options = ptxed
      ? streams.map((stream) => names.other(names.stem(stream, type), "opts"))
      : [];
    for (const path of [...files.map((name) => names.path(name)), ...options]) {
      openOutput(path, force).close();
    }
  }

  /** Opens the output file of a stream. The file gets its name in {@link Outputs.commit}. */
  open(stream: AuxStream, type: number): NewFile {
    const path = this.names.path(this.names.of(stream, type));
    const file = openOutput(path, this.#wish.force);
    this.#open.set(path, file);
    return file;
  }

  /** Renames all files to their final names, after all data was written. */
  commit(): void {
    for (const [path, file] of this.#open) about(path, () => file.commit());
    for (const folder of this.#made) folder.commit();
  }

  /** Removes files that were not committed. */
  [Symbol.dispose](): void {
    for (const file of this.#open.values()) file.close();
    for (const folder of this.#made) folder[Symbol.dispose]();
  }
}

/** Copies the data to the outputs. */
async function extract(wish: Wish, recording: Recording, outputs: Outputs): Promise<CopiedAux> {
  const { file, list, output, raw } = wish;
  const toStdout = output === "-";
  let isPrepared = false;
  return await recording.copyAux({
    raw,
    known(trace) {
      const streams = chosen(wish, trace);
      // AUX data in samples is copied like that of a pipe: its streams are known one by one.
      isPrepared = trace.streams.every(({ idx }) => idx >= 0);
      if (isPrepared) outputs.prepare(trace.type, streams);
    },
    open(stream, type) {
      if (!wants(wish, stream)) return undefined;
      if (!isPrepared) {
        checkType(wish, type);
        outputs.prepare(type, [stream]);
      }
      if (list) return undefined;
      return toStdout ? { write: writeOut } : outputs.open(stream, type);
    },
    copy: list || toStdout ? undefined : async (trace, progress) => {
      const streams = chosen(wish, trace);
      const copies = streams.map((stream) => {
        const { temporary } = outputs.open(stream, trace.type);
        const name = outputs.names.path(outputs.names.of(stream, trace.type));
        return { stream, path: temporary, name };
      });
      const total = streams.reduce((sum, stream) => sum + auxStreamBytes(stream), 0);
      await copyAuxToFiles(file, copies, { progress: progress(total) });
    },
  });
}

function table(
  trace: AuxTrace,
  outputs: readonly { readonly stream: AuxStream; readonly file: string | undefined }[],
): string {
  const count = (pieces: readonly AuxPiece[], holds: (piece: AuxPiece) => boolean) =>
    String(pieces.filter(holds).length);
  const rows = [["DATA", "BYTES", "PIECES", "GAPS", "CUT", "OVERLAP", "FLAGS"]];
  for (const { stream, file } of outputs) {
    const { pieces } = stream;
    rows.push([
      file ?? streamName(stream),
      String(auxStreamBytes(stream)),
      String(pieces.length),
      count(pieces, ({ gap }) => gap !== 0n),
      count(pieces, ({ missing }) => missing > 0),
      String(pieces.reduce((sum, { overlap }) => sum + overlap, 0)),
      auxFlagNames(stream.flags).join(",") || "-",
    ]);
  }
  for (const row of rows) row[0] = visible(row[0] ?? "");
  const last = (rows[0]?.length ?? 0) - 1;
  const lines = alignedRows(rows, (column) => column === 0 || column === last);
  const command = trace.cmdline === undefined
    ? ""
    : `, recorded with: ${visible(trace.cmdline.join(" "))}`;
  return `${trace.typeName}${command}\n${lines.join("\n")}\n`;
}

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const wish = wishOf(flags);
  const { file, list, json } = wish;
  const toStdout = wish.output === "-";
  if (list || toStdout) giveUpWriting();
  using outputs = new Outputs(wish);
  const { reader, trace, complaints } = await aboutAsync(file, async () => {
    const { recording, complaints, progress } = await openRecording("extract-pt", file, {
      source: openSource(file, { interruptible: true }),
    });
    const copied = await extract(wish, recording, outputs).finally(() => progress.finish());
    return { ...copied, complaints };
  });
  complaints.finish();

  const streams = chosen(wish, trace);
  const described = streams.map((stream) => ({ stream, file: outputs.names.known(stream) }));
  const manifest = `${
    JSON.stringify(auxManifest({ input: file, trace, outputs: described }), null, 2)
  }\n`;
  if (!list && !toStdout) {
    const path = outputs.names.path(outputs.names.manifest(trace.type));
    // Write the manifest last: if it exists, so do all files that it names.
    outputs.commit();
    writeOutput(path, manifest, wish.force);
  }
  if (wish.ptxed) {
    const { names } = outputs;
    complaints.muted = true;
    await writePtxedFiles(
      reader,
      trace,
      streams.map((stream) => ({ stream, stem: names.stem(stream, trace.type) })),
      { ...wish, path: (stem, extension) => names.other(stem, extension) },
    );
  }
  if (!toStdout) writeOut(json ? manifest : table(trace, described));
  const lost = streams.some(({ pieces }) => pieces.some(({ missing }) => missing > 0));
  return lost || reader.stats.skippedBytes > 0 || complaints.count > 0 ? 1 : 0;
}
