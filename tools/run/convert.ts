/** Runs `convert`. */
import {
  AddBuildIds,
  ByteOrder,
  CompressedOutput,
  copyRecording,
  type Edit,
  filesWithoutBuildId,
  ForPerf,
  KERNEL,
  type PerfKnowledge,
  perfKnowledge,
} from "@perfdata/edit";
import type { SpeSamples } from "@perfdata/edit/slice";
import { decodeFeature } from "@perfdata/format/features";
import { PerfDataReader } from "@perfdata/format/records";
import {
  HEADER_OSRELEASE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
} from "@perfdata/format/constants";
import { openSource } from "@perfdata/format/files";
import { buildIdOfNotes, ElfFile } from "@perfdata/symbols";
import { SymbolsError } from "@perfdata/symbols/resolver";
import { localFiles, openBinaryFile } from "@perfdata/symbols/files";
import {
  aboutAsync,
  complain,
  Complaints,
  InputError,
  oneFile,
  parseWord,
  Progress,
  UsageError,
} from "../shared/cli.ts";
import { summary, writeRecording } from "../shared/edited_file.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { injectJit } from "../shared/jit_elf_files.ts";
import type { FLAGS } from "../convert.ts";

/** The zstd level of `perf record -z`. */
const LEVEL = 1;

function knowledge(version: string): PerfKnowledge {
  try {
    return perfKnowledge(version);
  } catch (error) {
    throw new UsageError(`--for-perf: ${(error as Error).message}`);
  }
}

/** The parsed values of `--for-perf` and `--byte-order`. */
interface Changes {
  readonly version: string | undefined;
  readonly known: PerfKnowledge | undefined;
  readonly order: "little" | "big" | undefined;
}

/** The edits whose counts are reported after the copy. */
interface Changed {
  readonly sampled: SpeSamples | undefined;
  readonly fitting: ForPerf | undefined;
  readonly swapped: ByteOrder | undefined;
}

type ConvertFlags = FlagsOf<typeof FLAGS>;

/**
 * Parses `--for-perf` and `--byte-order`.
 *
 * @throws {UsageError} If the target perf cannot read compressed records, but `--compress` is
 * given.
 */
function changesOf({ on, value }: ConvertFlags): Changes {
  const version = value["for-perf"];
  const known = version === undefined ? undefined : knowledge(version);
  if (on.compress && known !== undefined && known.userType < PERF_RECORD_COMPRESSED) {
    throw new UsageError(`--compress: the perf of Linux ${version} reads no compressed records`);
  }
  const order = parseWord("byte-order", value["byte-order"], ["little", "big"] as const);
  return { version, known, order };
}

/** Prints how many samples were made and what was left out. */
function reportChanges(
  name: string,
  version: string | undefined,
  { sampled, fitting, swapped }: Changed,
): void {
  if (sampled !== undefined) {
    const { samples, others, damaged } = sampled;
    complain(
      `convert: ${name}: ${samples} samples of loads and stores` +
        (others > 0 ? `; ${others} records of Arm SPE are of other instructions` : "") +
        (damaged > 0 ? `; ${damaged} bytes are no packets` : ""),
    );
  }
  for (const [what, count] of fitting?.left ?? []) {
    complain(
      `convert: ${name}: ${count} × ${what} left out, which perf ${version} does not know`,
    );
  }
  const { unjoined = 0, shortened = 0 } = fitting?.chains ?? {};
  if (unjoined > 0) {
    complain(
      `convert: ${name}: ${unjoined} samples without user callers: their record is missing, ` +
        "or comes later in a pipe; convert a file",
    );
  }
  if (shortened > 0) {
    complain(`convert: ${name}: outer callers of ${shortened} samples left out: too long a record`);
  }
  for (const [what, count] of swapped?.left ?? []) {
    complain(`convert: ${name}: ${count} × ${what} left out, whose layout is not known`);
  }
  if (swapped !== undefined && swapped.rawSamples > 0) {
    complain(`convert: ${name}: raw data of ${swapped.rawSamples} samples keeps its byte order`);
  }
}

export async function run(flags: ConvertFlags): Promise<number> {
  const { on, value, operands } = flags;
  const name = oneFile(operands);
  const { version, known, order } = changesOf(flags);
  const { zstdCompressSync, constants } = on.compress ? await import("node:zlib") : {};
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`convert: ${name}`);
    const traced = value.itrace === undefined
      ? undefined
      : await (await import("../shared/itraced.ts"))
        .itraceEdit("convert", name, value.itrace);
    const source = traced?.source ?? openSource(name, { interruptible: true });
    const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
    const swapped = order !== undefined && (order === "little") !== reader.littleEndian
      ? new ByteOrder(reader)
      : undefined;
    const fitting = known && await ForPerf.open(reader, known);
    const sampled = on.spe ? await speSamples(name, reader) : undefined;
    const identified = on["build-ids"] ? await identify(name, reader) : undefined;
    await writeRecording("convert", flags, async ({ output: plain, path }) => {
      // Injected only now, when the output is known to be writable, because it writes files too.
      const jitted = on.jit ? await injectJit("convert", name, reader, on.force) : undefined;
      const edit: Edit = swapped ?? fitting ?? identified ?? jitted ?? sampled ?? traced?.edit ??
        {};
      const level = { params: { [constants?.ZSTD_c_compressionLevel ?? 0]: LEVEL } };
      const output = zstdCompressSync === undefined ? plain : new CompressedOutput(
        plain,
        (bytes) => zstdCompressSync(bytes, level),
        LEVEL,
        known !== undefined && known.userType >= PERF_RECORD_COMPRESSED2,
      );
      const progress = new Progress("convert", reader.fileSize);
      const copied = await copyRecording(reader, output, {
        keepCompressed: on["keep-compressed"],
        edit,
        lostFeature: complaints.take,
        progress: progress.add,
      });
      progress.finish();
      summary("convert", copied, path);
    });
    reportChanges(name, version, { sampled, fitting, swapped });
    complaints.finish();
    const isWhole = traced?.report() !== false;
    return complaints.count > 0 || !isWhole ? 1 : 0;
  });
}

/** Opens the decoder that turns Arm SPE data into samples. */
async function speSamples(name: string, reader: PerfDataReader): Promise<SpeSamples> {
  if (reader.fileSize === undefined) {
    throw new InputError("--spe: a stream can be read only once; write it to a file first");
  }
  // Imported here because only `--spe` needs it.
  const made = await import("@perfdata/edit/slice");
  const samples = await made.SpeSamples.of(reader);
  if (samples === undefined) throw new InputError(`${name}: no AUX data of Arm SPE`);
  return samples;
}

/** Looks up build ids of the mapped files on this machine. */
async function identify(name: string, reader: PerfDataReader): Promise<AddBuildIds> {
  if (reader.fileSize === undefined) {
    throw new InputError("--build-ids: a stream can be read only once; write it to a file first");
  }
  const files = await filesWithoutBuildId(reader);
  const ids = new Map<string, string>();
  for (const file of files) {
    const id = file === KERNEL ? await kernelBuildId(reader) : fileBuildId(file);
    if (id !== undefined) ids.set(file, id);
  }
  complain(
    `convert: ${name}: ${ids.size} of ${files.length} files without a build id have one on this machine`,
  );
  return new AddBuildIds(reader, ids);
}

function fileBuildId(path: string): string | undefined {
  try {
    using source = openBinaryFile(path);
    return ElfFile.open(source).buildId();
  } catch (error) {
    const isGone = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotCapable;
    if (!isGone && !(error instanceof SymbolsError)) throw error;
    return undefined;
  }
}

async function osRelease(reader: PerfDataReader): Promise<string | undefined> {
  const section = reader.features.find(({ id }) => id === HEADER_OSRELEASE)?.section;
  if (section === undefined) return undefined;
  const [offset, size] = [Number(section.offset), Number(section.size)];
  const bytes = await reader.readSection(offset, size, "OSRELEASE");
  const feature = decodeFeature(HEADER_OSRELEASE, bytes, { littleEndian: reader.littleEndian });
  return feature.name === "OSRELEASE" ? feature.value : undefined;
}

/** The build id of the running kernel, if the recording was made on the same release. */
async function kernelBuildId(reader: PerfDataReader): Promise<string | undefined> {
  const release = localFiles.read("/proc/sys/kernel/osrelease");
  const notes = localFiles.read("/sys/kernel/notes");
  if (release === undefined || notes === undefined) return undefined;
  if (await osRelease(reader) !== new TextDecoder().decode(release).trim()) return undefined;
  const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
  return buildIdOfNotes(notes, littleEndian, 4);
}

/** The hint in messages about changes that cannot be combined. */
