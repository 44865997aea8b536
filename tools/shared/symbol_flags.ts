/** Flags of all commands that show symbols. */
import type { OpenSymbols } from "@perfdata/perfdata";
import { fileKind } from "@perfdata/format/constants";
import type { SymbolFiles, SymbolResolver } from "@perfdata/symbols";
import { localFiles, localResolver, type OpenResolverOptions } from "@perfdata/symbols/files";
import { about, atStart, InputError } from "./cli.ts";
import type { SYMBOL_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { isArchive, notBundle } from "./not_bundle.ts";

/** The parsed flags that locate symbols. */
export type SymbolFlags = FlagsOf<typeof SYMBOL_FLAGS>;

export function symbolOptions({ on, value }: SymbolFlags): OpenResolverOptions {
  const { symbols, symfs, vmlinux, kallsyms, guestmount } = value;
  const { "guest-vmlinux": guestVmlinux, "guest-kallsyms": guestKallsyms } = value;
  return {
    demangle: !on["no-demangle"],
    symbols,
    symfs,
    vmlinux,
    kallsyms,
    guestVmlinux,
    guestKallsyms,
    guestMount: guestmount,
  };
}

/**
 * Opens the symbol resolver. For a directory of `perf record --kcore`, kernel symbols come from its
 * copy, unless flags name other files.
 *
 * @param file The recording.
 * @param more Further options: the release of the recorded kernel, the form of names.
 * @throws {InputError} If a named file does not exist or is of the wrong kind.
 */
export async function resolverOf(
  flags: SymbolFlags,
  file: string,
  more: OpenResolverOptions = {},
): Promise<SymbolResolver> {
  const copied = `${file}/kcore_dir/kallsyms`;
  const named = symbolOptions(flags);
  const options = {
    ...more,
    ...named,
    kallsyms: named.kallsyms ?? (isFile(copied) ? copied : undefined),
  };
  const files = await symbolFiles(options.symfs);
  checkPath(options.vmlinux, false);
  checkPath(options.kallsyms, false);
  checkPath(options.guestVmlinux, false);
  checkPath(options.guestKallsyms, false);
  checkPath(options.guestMount, true);
  for (const path of [options.vmlinux, options.guestVmlinux]) {
    if (path !== undefined) checkElf(path);
  }
  const { symbols } = options;
  if (symbols === undefined) return localResolver({ ...options, files });
  const { BundleError, openResolver } = await import("@perfdata/symbols/files");
  try {
    return about(symbols, () => openResolver({ ...options, files }));
  } catch (error) {
    throw error instanceof BundleError ? notBundle(symbols, error) : error;
  }
}

/** Opens the symbols that the flags name, for a recording: see `OpenOptions`. */
export function symbolsOf(
  flags: SymbolFlags,
  file: string,
  turn?: OpenResolverOptions["turn"],
): OpenSymbols {
  return ({ machine, lines }) =>
    resolverOf(flags, file, { machine, parameters: false, debugInformation: lines, turn });
}

/** Open archives, shared by all file lookups. */
const archives = new Map<string, Promise<SymbolFiles>>();
atStart(() => archives.clear());

/**
 * The file system for lookups: this machine, or the archive of `--symfs`.
 *
 * @throws {InputError} If the path of `--symfs` does not exist, or is neither a directory nor an
 * archive.
 */
export async function symbolFiles(symfs: string | undefined): Promise<SymbolFiles> {
  if (symfs === undefined || !isArchive(symfs)) {
    checkPath(symfs, true);
    return localFiles;
  }
  const known = archives.get(symfs);
  if (known !== undefined) return await known;
  const opened = openArchive(symfs);
  archives.set(symfs, opened);
  return await opened;
}

async function openArchive(path: string): Promise<SymbolFiles> {
  const { SymbolsError } = await import("@perfdata/symbols/resolver");
  const { archiveFiles } = await import("@perfdata/symbols");
  try {
    const files = await archiveFiles(path, localFiles);
    if (files !== undefined) return files;
    throw new InputError(`${path}: is no tar archive`);
  } catch (error) {
    if (!(error instanceof SymbolsError)) throw error;
    // Suggest unpacking only for archives above the limits: a damaged archive does not unpack
    // either.
    const unpack = error.message.includes("have more than")
      ? `; unpack it: mkdir files && tar xf ${path} -C files, then --symfs files`
      : "";
    throw new InputError(`${error.message}${unpack}`, { cause: error });
  }
}

/** Throws if a path does not exist, or is a directory instead of a file or the reverse. */
function checkPath(path: string | undefined, isFolder: boolean): void {
  if (path === undefined) return;
  about(path, () => {
    if (isFolderAt(path) === isFolder) return;
    throw isFolder ? new Deno.errors.NotADirectory() : new Deno.errors.IsADirectory();
  });
}

function isFolderAt(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (error) {
    // Deno needs a special permission for kernel files such as /proc/kallsyms.
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    if (localFiles.read(path) === undefined) throw error;
    return false;
  }
}

function checkElf(path: string): void {
  about(path, () => {
    using file = Deno.openSync(path);
    const start = new Uint8Array(4);
    file.readSync(start);
    if (fileKind(start) !== "elf") {
      throw new InputError(`${path}: is no ELF file`);
    }
  });
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
