import { runsOn } from "../code/architecture.ts";
import { buildIdOfNotes } from "../elf/notes.ts";
import { findElfSymbol } from "../elf/raw_symbols.ts";
import { SymbolsError } from "../errors.ts";
import {
  buildIdsEqual,
  type FoundFile,
  type KernelCandidate,
  kernelCandidates,
} from "../files/file_search.ts";
import { type OpenedFiles, readableBuildId } from "../files/opened_files.ts";
import type { SymbolObject } from "./resolution.ts";
import { dataOf, debugInformation, findInElf, moduleFileLookup } from "./elf_lookup.ts";
import { isPathKnown } from "./guest_context.ts";
import { RUNNING_KALLSYMS } from "./kallsyms_text.ts";
import { type Lookup, noSymbols, nothingFound, type ResolverContext } from "./lookup.ts";
import { findInTable } from "./table_lookup.ts";

/** Group of the kernel's own symbols in a copy of kallsyms. */
const KERNEL_GROUP = 0;
const RUNNING_NOTES = "/sys/kernel/notes";
const RUNNING_RELEASE = "/proc/sys/kernel/osrelease";

/** Opens a kernel's symbols: the first `vmlinux` or copy of kallsyms that belongs to it. */
export async function kernelLookup(
  object: SymbolObject,
  context: ResolverContext,
  opened: OpenedFiles,
): Promise<Lookup> {
  const { vmlinux, kallsyms } = context.options;
  const given: KernelCandidate[] = [];
  if (vmlinux !== undefined) given.push({ path: vmlinux, kind: "vmlinux" });
  if (kallsyms !== undefined) given.push({ path: kallsyms, kind: "kallsyms" });
  const candidates = given.length > 0
    ? given
    : isPathKnown(object, context)
    ? candidatesFor(object, context, opened)
    : [];
  let restricted = false;
  for (const { path, kind } of candidates) {
    if (kind === "vmlinux") {
      const lookup = await vmlinuxLookup(path, object, context, opened);
      if (lookup !== undefined) return lookup;
      continue;
    }
    const text = context.kallsyms.read(path, opened);
    if (text === undefined) continue;
    if (text.restricted) {
      restricted = true;
      continue;
    }
    const base = text.base(object);
    if (base === undefined) {
      opened.refused.push({ path, origin: "path", reason: "another kernel" });
      continue;
    }
    // Without a mapping of the guest's kernel, its modules' addresses are unknown, too.
    const group = object.guest !== undefined && object.reference === undefined
      ? undefined
      : KERNEL_GROUP;
    return {
      origin: path,
      verified: given.length === 0 || base === object.referenceAddress,
      find: (addresses) =>
        findInTable(addresses, base, text.tableFor(addresses, base), context.show, group),
    };
  }
  return restricted ? noSymbols("kallsyms restricted") : nothingFound(opened);
}

function candidatesFor(
  object: SymbolObject,
  context: ResolverContext,
  opened: OpenedFiles,
): KernelCandidate[] {
  const { buildId } = object;
  const release = context.options.machine?.release;
  const candidates = kernelCandidates({
    buildId,
    release,
  }, context.places);
  if (isRunning(object, context, opened)) {
    candidates.push({ path: RUNNING_KALLSYMS, kind: "kallsyms" });
  }
  return candidates;
}

async function vmlinuxLookup(
  path: string,
  object: SymbolObject,
  context: ResolverContext,
  opened: OpenedFiles,
): Promise<Lookup | undefined> {
  const file = opened.candidate(path);
  if (file === undefined) return undefined;
  const candidate = { path, origin: "vmlinux" } as const;
  if (file instanceof SymbolsError) {
    opened.refused.push({ ...candidate, reason: "not readable" });
    return undefined;
  }
  const { elf } = file;
  if (!runsOn(context.options.machine?.arch, elf)) {
    opened.refused.push({ ...candidate, reason: "another architecture" });
    return undefined;
  }
  if (object.buildId !== undefined) {
    const buildId = readableBuildId(elf);
    if (buildId === undefined || !buildIdsEqual(buildId, object.buildId)) {
      opened.refused.push({
        ...candidate,
        ...(buildId === undefined
          ? { reason: "no build id" }
          : { reason: "build id differs", buildId }),
      });
      return undefined;
    }
  }
  const found: FoundFile = { path, origin: "path", elf };
  const { reference } = object;
  const linked = reference === undefined
    ? 0
    : opened.attempt(found, () => findElfSymbol(elf, reference));
  const { readElfSymbols } = await import("../elf/elf_symbols.ts");
  const table = opened.attempt(found, () => readElfSymbols(elf).table);
  if (linked === undefined || table === undefined || table.size === 0) return undefined;
  const dwarf = await debugInformation(found, path, context, opened);
  return {
    origin: path,
    verified: object.buildId !== undefined,
    data: dataOf(dwarf, (address) => address + linked, elf, elf),
    find: (addresses) =>
      findInElf(addresses, (address) => address + linked, () => table, dwarf, context.show),
  };
}

/** Opens a module's symbols: its file, or the running kernel's kallsyms. */
export async function moduleLookup(
  object: SymbolObject,
  context: ResolverContext,
  opened: OpenedFiles,
): Promise<Lookup> {
  if (object.path.startsWith("/") && isPathKnown(object, context)) {
    const lookup = await moduleFileLookup(object, context, opened);
    if (lookup !== undefined) return lookup;
  }
  // Module addresses are known only from kallsyms of the recorded boot.
  const { loadAddress, reference, referenceAddress } = object;
  const path = context.options.kallsyms ??
    (object.guest === undefined ? RUNNING_KALLSYMS : undefined);
  const text = path === undefined || loadAddress === undefined || reference === undefined
    ? undefined
    : context.kallsyms.read(path, opened);
  if (
    path !== undefined && text !== undefined && loadAddress !== undefined && !text.restricted &&
    text.base(object) === referenceAddress
  ) {
    const { table, modules } = text.read;
    const group = modules.indexOf(moduleName(object.path));
    if (group > 0) {
      return {
        origin: path,
        verified: true,
        find: (distances) => findInTable(distances, loadAddress, table, context.show, group),
      };
    }
  }
  return nothingFound(opened);
}

/** A module's name in `/proc/kallsyms`: `[my-mod]` and `…/my-mod.ko.xz` are `my_mod`. */
function moduleName(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.replace(/^\[(.*)\]$/, "$1").replace(/\.ko(\.\w+)?$/, "").replaceAll("-", "_");
}

/**
 * Whether the recorded kernel is the running one: by build id. Without a build id, release and boot
 * address must be equal.
 */
function isRunning(kernel: SymbolObject, context: ResolverContext, opened: OpenedFiles): boolean {
  const { buildId, reference, referenceAddress } = kernel;
  if (buildId === undefined) {
    const release = context.options.machine?.release;
    if (reference === undefined || release === undefined) return false;
    const running = opened.read(RUNNING_RELEASE);
    if (running === undefined || new TextDecoder().decode(running).trim() !== release) {
      return false;
    }
    const text = context.kallsyms.read(RUNNING_KALLSYMS, opened);
    return text !== undefined && text.base(kernel) === referenceAddress;
  }
  const notes = opened.read(RUNNING_NOTES);
  const running = notes === undefined ? undefined : buildIdOfNotes(notes, true, 4);
  return running !== undefined && buildIdsEqual(running, buildId);
}
