import { runsOn } from "./architecture.ts";
import { SHT } from "../elf/elf_constants.ts";
import { ElfFile } from "../elf/elf_file.ts";
import { SymbolsError } from "../errors.ts";
import { buildIdsEqual, kernelCandidates, type SearchPlaces } from "../files/file_search.ts";
import type { SymbolObject } from "../resolver/resolution.ts";
import { guestPlaces, guestRoot } from "../resolver/guest_context.ts";
import type { SymbolOptions } from "../resolver/options.ts";
import type { ClosableSource, SymbolFiles } from "../files/symbol_files.ts";

/** `e_type` of an object file that is not linked. */
const ET_REL = 1;

/** Search places of {@linkcode openCodeFile}. */
export interface CodeFilePlaces
  extends SearchPlaces, Pick<SymbolOptions, "guestVmlinux" | "guestMount"> {
  /** The kernel's ELF file. */
  readonly vmlinux?: string;
  /**
   * Architecture of the recorded machine (`uname -m`). Files of other architectures are refused.
   */
  readonly arch?: string | undefined;
  /** Release of the recorded kernel. Some systems store the vdso under it. */
  readonly release?: string | undefined;
}

/** An object's code file, or the reason why it is missing. */
export type CodeFile =
  | { readonly path: string; readonly source: ClosableSource; readonly elf: ElfFile }
  | { readonly missing: string };

/**
 * Opens the binary that was mapped, not its debug file.
 *
 * The file is searched in `symfs`, in perf's build-id cache and in debuginfod's cache. A file of
 * another build or architecture is refused.
 *
 * Kernel code is read from `vmlinux`, which has the code before the kernel patched itself. A module
 * that is not linked (`.ko`) has no usable code.
 *
 * @param object An executable, a library, the vdso, a module or the kernel.
 *
 * @example
 * ```ts
 * import { openCodeFile } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const files = { open: () => undefined, read: () => undefined };
 * assertEquals(openCodeFile(files, { path: "/usr/bin/gone", kind: "elf" }), {
 *   missing: "file missing",
 * });
 * ```
 */
export function openCodeFile(
  files: SymbolFiles,
  object: Pick<SymbolObject, "path" | "buildId" | "kind" | "guest">,
  places: CodeFilePlaces = {},
): CodeFile {
  if (object.guest !== undefined) return openGuestCode(files, object, object.guest, places);
  let missing = "file missing";
  const paths = object.kind === "kernel" ? kernelFiles(object, places) : candidates(object, places);
  for (const path of paths) {
    let source: ClosableSource | undefined;
    try {
      source = files.open(path);
      if (source === undefined) continue;
      const elf = ElfFile.open(source);
      const why = refused(elf, object, places) ?? withoutCode(elf, object);
      if (why === undefined) return { path, source, elf };
      missing = why;
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
      missing = error.message;
    }
    source?.close?.();
  }
  return { missing };
}

/**
 * {@linkcode openCodeFile} for an object of a guest. The host's files are used only if the build id
 * matches.
 */
function openGuestCode(
  files: SymbolFiles,
  { path, buildId, kind }: Pick<SymbolObject, "path" | "buildId" | "kind">,
  guest: number,
  places: CodeFilePlaces,
): CodeFile {
  const root = guestRoot(places, guest);
  const { arch, guestVmlinux } = places;
  const isNamed = kind === "kernel" && guestVmlinux !== undefined;
  if (buildId === undefined && root === undefined && !isNamed) return { missing: "file missing" };
  const object = { path, kind, ...(buildId === undefined ? {} : { buildId }) };
  return openCodeFile(files, object, {
    ...guestPlaces(places, root),
    arch,
    ...(guestVmlinux === undefined ? {} : { vmlinux: guestVmlinux }),
  });
}

/** Reason why a file's code cannot be followed, if there is one. */
function withoutCode(elf: ElfFile, { kind }: Pick<SymbolObject, "kind">): string | undefined {
  if (kind === "module" && elf.type === ET_REL) {
    return "not linked: perf record --kcore copies what ran";
  }
  // Debug files have the code's section headers without its bytes.
  const isEmpty = elf.sections.some(({ name, type }) => name === ".text" && type === SHT.NOBITS);
  return isEmpty ? "debug information alone" : undefined;
}

function* kernelFiles(
  { buildId }: Pick<SymbolObject, "buildId">,
  places: CodeFilePlaces,
): Generator<string> {
  if (places.vmlinux !== undefined) {
    yield places.vmlinux;
    return;
  }
  const { release } = places;
  const wanted = {
    ...(buildId === undefined ? {} : { buildId }),
    ...(release === undefined ? {} : { release }),
  };
  for (const { path, kind } of kernelCandidates(wanted, places)) if (kind === "vmlinux") yield path;
}

function refused(
  elf: ElfFile,
  { buildId }: Pick<SymbolObject, "buildId">,
  { arch }: CodeFilePlaces,
): string | undefined {
  if (!runsOn(arch, elf)) return "another architecture";
  if (buildId === undefined) return undefined;
  const found = elf.buildId();
  if (found === undefined) return "no build id";
  return buildIdsEqual(found, buildId) ? undefined : "build id differs";
}

function* candidates(
  { path, buildId, kind }: Pick<SymbolObject, "path" | "buildId" | "kind">,
  { symfs = "", buildIdCache, debuginfodCache, byBuildId, release }: CodeFilePlaces,
): Generator<string> {
  if (kind !== "vdso" && path.startsWith("/")) yield symfs.replace(/\/$/, "") + path;
  if (buildId !== undefined && buildIdCache !== undefined) {
    const entry = `${buildIdCache}/.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}`;
    yield `${entry}/${kind === "vdso" ? "vdso" : "elf"}`;
    if (kind !== "vdso") yield entry;
  }
  if (buildId !== undefined && debuginfodCache !== undefined) {
    yield `${debuginfodCache}/${buildId}/executable`;
  }
  if (kind === "vdso" && release !== undefined) {
    yield `${symfs.replace(/\/$/, "")}/lib/modules/${release}/vdso/vdso64.so`;
  }
  if (buildId !== undefined) yield* byBuildId?.find(buildId) ?? [];
}
