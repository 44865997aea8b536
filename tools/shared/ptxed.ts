/** `extract-pt --ptxed`: writes the additional input of libipt's ptxed and ptdump. */
import type { PerfDataReader } from "@perfdata/format/records";
import { fileSink } from "@perfdata/format/files";
import {
  type AuxStream,
  type AuxTrace,
  isFilePath,
  libiptImageOptions,
  libiptOptions,
  LibiptSideband,
  libiptSidebandOptions,
  type MappedCode,
  noSidebandReason,
} from "@perfdata/session/auxtrace";
import { runEngine } from "@perfdata/session";
import { about, complain, exists } from "./cli.ts";

/** Inputs of {@link writePtxedFiles}. */
export interface PtxedWish {
  /** The recording, as the user named it. */
  readonly file: string;
  /** The directory with files of the recorded machine. */
  readonly symfs: string | undefined;
  /** Overwrite files that exist. */
  readonly force: boolean;
  /** The path of an output: `cpu0` and `opts` give `perf.data.cpu0.opts`. */
  path(stem: string, extension: string): string;
}

/** The stem of a sideband file; empty for records without CPU. */
const stemOf = (cpu: number): string => cpu < 0 ? "" : `cpu${cpu}`;

/**
 * Writes the sideband of each CPU, and the options of each stream.
 *
 * @param streams The streams with their file name stems: `cpu0`, `tid42`.
 */
export async function writePtxedFiles(
  reader: PerfDataReader,
  trace: AuxTrace,
  streams: readonly { readonly stream: AuxStream; readonly stem: string }[],
  wish: PtxedWish,
): Promise<void> {
  const reason = noSidebandReason(reader, trace);
  const createNew = !wish.force;
  const sinks: { close(): void }[] = [];
  const sideband = new LibiptSideband((cpu) => {
    if (reason !== undefined) return () => {};
    const path = wish.path(stemOf(cpu), "pevent");
    const sink = about(path, () => fileSink(path, { createNew }));
    sinks.push(sink);
    return (bytes) => void sink.write(bytes);
  });
  try {
    // The first read of the recording reported its errors.
    await runEngine(reader, [sideband], { diagnostics: () => {} });
  } finally {
    for (const sink of sinks) sink.close();
  }
  const files = new Map(sideband.cpus.map((cpu) => [cpu, wish.path(stemOf(cpu), "pevent")]));
  const common = [...libiptOptions(reader, trace), ...imageOptions(wish)];
  const pids = new Set(sideband.mapped.map(({ pid }) => pid));
  for (const { stream, stem } of streams) {
    const words = [...common];
    if (reason === undefined) words.push(...libiptSidebandOptions(stream, files));
    else if (pids.size === 1) words.push(...libiptImageOptions(sideband.mapped, wish.symfs));
    const path = wish.path(stem, "opts");
    about(
      path,
      () => Deno.writeTextFileSync(path, `${words.map(quoted).join(" ")}\n`, { createNew }),
    );
  }
  if (reason !== undefined) {
    const image = pids.size === 1
      ? "the options name the mapped files instead"
      : `and ${pids.size} processes were traced, so that ptxed has to be given their code`;
    complain(`extract-pt: ${wish.file}: no sideband: ${reason}; ${image}`);
  }
  reportMissing(sideband.mapped, wish);
}

/** Options for copies of kernel and vdso code. */
function imageOptions({ file, symfs }: PtxedWish): string[] {
  const words: string[] = [];
  if (symfs !== undefined) {
    words.push("--pevent:sysroot", symfs);
    // The file names of libipt's script/perf-copy-mapped-files.bash.
    for (const abi of ["x64", "x32", "ia32"]) {
      const path = `${symfs}/vdso/vdso-${abi}.so`;
      if (exists(path)) words.push(`--pevent:vdso-${abi}`, path);
    }
  }
  const kcore = `${file}/kcore_dir/kcore`;
  if (!exists(kcore)) return words;
  words.push("--pevent:kcore", kcore);
  const kallsyms = `${file}/kcore_dir/kallsyms`;
  const symbols = exists(kallsyms) ? Deno.readTextFileSync(kallsyms) : "";
  const [start] = [...symbols.matchAll(/^([0-9a-f]+) T _s?text$/gm)]
    .map(([, address]) => BigInt(`0x${address}`)).sort((a, b) => a < b ? -1 : 1);
  if (start !== undefined) words.push("--pevent:kernel-start", `0x${start.toString(16)}`);
  return words;
}

/** Reports mapped files that ptxed will not find. */
function reportMissing(mapped: readonly MappedCode[], { file, symfs = "" }: PtxedWish): void {
  const paths = new Set(mapped.map(({ path }) => path));
  const missing = [...paths].filter((path) =>
    path === "[vdso]"
      ? !exists(`${symfs}/vdso/vdso-x64.so`)
      : !isFilePath(path) || !exists(`${symfs}${path}`)
  );
  if (missing.length === 0) return;
  const shown = missing.slice(0, 5).join(", ") + (missing.length > 5 ? ", …" : "");
  complain(
    `extract-pt: ${file}: ${missing.length} of ${paths.size} mapped files are not ` +
      `${
        symfs === "" ? "on this machine" : `in ${symfs}`
      }, so that ptxed cannot decode their code: ` +
      shown,
  );
}

/** Quotes a word for the shell if necessary. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
