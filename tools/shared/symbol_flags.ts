/**
 * The flags of all commands that show symbols.
 */
import { fileKind } from "@perfdata/format/file-kind";
import type { SymbolFiles, SymbolResolver } from "@perfdata/symbols";
import { localFiles } from "@perfdata/symbols/local-files";
import { localResolver } from "@perfdata/symbols/local-resolver";
import type { OpenResolverOptions } from "@perfdata/symbols/open-resolver";
import { UNVERIFIED_MARK } from "@perfdata/profile/profile";
import { CONTESTED_MAP } from "@perfdata/symbols/trust-report";
import type { SymbolTrust } from "@perfdata/session/symbols";
import { remedyText } from "./remedies.ts";
import { about, atStart, complain, InputError } from "./cli.ts";
import type { SYMBOL_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { isArchive, notBundle } from "./not_bundle.ts";

/** What the user gave of the flags that say where symbols are. */
export type SymbolFlags = FlagsOf<typeof SYMBOL_FLAGS>;

/** What the user gave of them. */
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
 * Opens what they name. Of a directory that `perf record --kcore` made, the kernel's symbols are those
 * that were copied there, unless others are named.
 *
 * @param file The recording.
 * @param more What else is known: the release of the recorded kernel, how names are shown.
 * @throws {InputError} If a file that was named is not there, or is not what it should be.
 */
export async function resolverOf(
  flags: SymbolFlags,
  file: string,
  more: OpenResolverOptions = {},
): Promise<SymbolResolver> {
  const copied = `${file}/kcore_dir/kallsyms`;
  const options = {
    ...more,
    ...(isFile(copied) ? { kallsyms: copied } : {}),
    ...symbolOptions(flags),
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
  const { BundleError, openResolver } = await import("@perfdata/symbols/open-resolver");
  try {
    return about(symbols, () => openResolver({ ...options, files }));
  } catch (error) {
    throw error instanceof BundleError ? notBundle(symbols, error) : error;
  }
}

/** Archives that were opened: all that looks for files in one sees the same. */
const archives = new Map<string, Promise<SymbolFiles>>();
atStart(() => archives.clear());

/**
 * The files that are seen: those of this machine, and of the archive that `--symfs` may name.
 *
 * @throws {InputError} If that is not there, or is neither a folder nor an archive.
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
  const { SymbolsError } = await import("@perfdata/symbols");
  const { archiveFiles } = await import("@perfdata/symbols/archive-files");
  try {
    const files = await archiveFiles(path, localFiles);
    if (files !== undefined) return files;
    throw new InputError(`${path}: is no tar archive`);
  } catch (error) {
    if (!(error instanceof SymbolsError)) throw error;
    // What is damaged is not whole when it is unpacked, either.
    const unpack = error.message.includes("have more than")
      ? `; unpack it: mkdir files && tar xf ${path} -C files, then --symfs files`
      : "";
    throw new InputError(`${error.message}${unpack}`, { cause: error });
  }
}

/** Throws where what was named is not there, or is no directory where one is expected, or is one. */
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
    // Deno has its own permission for files of the kernel, such as /proc/kallsyms.
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

/** Reports which files were not used, and why: once each. */
export function reportRefused(tool: string, trust: SymbolTrust): void {
  const reported = new Set<string>();
  for (const { refused, faults, faultCount, object } of trust.objects) {
    for (const { path, reason, buildId } of refused) {
      const has = buildId === undefined
        ? ""
        : ` (it is ${buildId}, recorded was ${object?.buildId ?? "none"})`;
      const line = `${tool}: ${path}: not used: ${reason}${has}`;
      if (!reported.has(line)) complain(line);
      reported.add(line);
    }
    for (const fault of faults) complain(`${tool}: ${object?.path}: ${fault}`);
    if (faultCount > faults.length) {
      complain(`${tool}: ${object?.path}: and ${faultCount - faults.length} more of this kind`);
    }
  }
}

/** Why addresses have no function, most first: `file missing (12), JIT (3)`. */
export function causesText({ unresolved }: Pick<SymbolTrust, "unresolved">): string {
  return [...unresolved].filter(([, { addresses }]) => addresses > 0)
    .sort(([, a], [, b]) => b.addresses - a.addresses)
    .map(([cause, { addresses }]) => `${cause} (${addresses})`).join(", ");
}

/**
 * Reports in a line how many addresses have no function and why, where there are such.
 *
 * @param verbose Tell the same of each object, and which files were not used, before.
 * @param counted What shares are of.
 */
export function reportTrust(
  tool: string,
  trust: SymbolTrust | undefined,
  verbose: boolean,
  counted = "samples",
): void {
  if (trust === undefined) return;
  if (verbose) {
    reportRefused(tool, trust);
    for (const { object, all, resolved, ...counts } of trust.objects) {
      if (resolved.addresses === all.addresses) continue;
      complain(
        `${tool}: ${object?.path ?? "no object"}: ${resolved.addresses} of ${all.addresses} ` +
          `addresses have a function; without: ${causesText(counts)}`,
      );
    }
    reportNewest(tool, trust, counted);
  } else reportMisleading(tool, trust, counted);
  reportUnverified(tool, trust, counted);
  const { all, resolved } = trust;
  if (resolved.addresses === all.addresses) return;
  const percent = (100 * resolved.samples / all.samples).toFixed(2);
  complain(
    `${tool}: ${resolved.addresses} of ${all.addresses} addresses (${percent}% of ${counted}) have ` +
      `a function; without: ${causesText(trust)}${remedyText(trust)}` +
      `${verbose ? "" : "; --verbose says more"}`,
  );
}

/**
 * Says which files mislead: those larger than what is read of a file, whose names and lines are not all there, perf
 * maps that name an address several times, and jitdump files with times of another clock.
 */
export function reportMisleading(tool: string, trust: SymbolTrust, counted = "samples"): void {
  const { objects } = trust;
  reportNewest(tool, trust, counted);
  for (const { object, faults } of objects) {
    for (const part of ["too large", CONTESTED_MAP]) {
      const fault = faults.find((message) => message.includes(part));
      if (fault !== undefined) complain(`${tool}: ${object?.path}: ${fault}`);
    }
  }
}

/** Reports the share of samples that have the name of the newest JIT code at their address. */
function reportNewest(tool: string, { all, newest }: SymbolTrust, counted: string): void {
  if (newest.addresses === 0) return;
  const share = (100 * newest.samples / all.samples).toFixed(2);
  complain(
    `${tool}: ${share}% of ${counted} have the name of the newest JIT code at a reused address; ` +
      `record with perf record -k mono`,
  );
}

/** Says whose names nothing verifies, and the share of samples that have one; in tables they have a mark. */
export function reportUnverified(
  tool: string,
  { all, unverified, objects }: SymbolTrust,
  counted = "samples",
): void {
  if (unverified.addresses === 0) return;
  const names = objects.filter((object) => object.unverified.addresses > 0)
    .map(({ object }) => object?.path ?? "?");
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  const percent = (100 * unverified.samples / all.samples).toFixed(2);
  complain(
    `${tool}: the functions of ${unverified.addresses} addresses (${percent}% of ${counted}) are ` +
      `not verified (in tables "${UNVERIFIED_MARK}"): no build id recorded of ${
        names.slice(0, 3).join(", ")
      }${more}`,
  );
}
