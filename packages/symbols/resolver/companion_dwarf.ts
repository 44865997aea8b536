import { DwarfContext } from "../dwarf/dwarf_context.ts";
import type { DwarfError } from "../dwarf/dwarf_error.ts";
import { elfDwarfSections } from "../dwarf/elf_sections.ts";
import type { DwarfSections } from "../dwarf/sections.ts";
import type { ElfFile } from "../elf/elf_file.ts";
import { buildIdsEqual } from "../files/file_search.ts";
import { type OpenedFiles, readableBuildId } from "../files/opened_files.ts";

/**
 * Opens the debug information of a file with its companions: `FILE.dwp`, the `.dwo` files (at the
 * compiler's output path or beside the file), and dwz's supplementary file.
 *
 * @param file the file with the debug information
 * @param runtimePath path of the mapped file
 * @param opened opens and closes the companions, and lists the refused ones
 * @param diagnostics receives read errors; without it, look-ups throw
 */
export function openCompanionDwarf(
  file: { readonly path: string; readonly elf: ElfFile },
  runtimePath: string,
  opened: OpenedFiles,
  diagnostics?: (error: DwarfError) => void,
): DwarfContext {
  const folder = file.path.slice(0, file.path.lastIndexOf("/")) || "/";
  const sections = (path: string): DwarfSections | undefined => sectionsOf(opened.elf(path));
  return DwarfContext.open(elfDwarfSections(file.elf), {
    diagnostics,
    dwp: () => sections(`${runtimePath}.dwp`) ?? sections(`${file.path}.dwp`),
    dwo: ({ name, compDir }) =>
      sections(name.startsWith("/") ? name : `${compDir ?? folder}/${name}`) ??
        sections(`${folder}/${name.slice(name.lastIndexOf("/") + 1)}`),
    supplementary: () => sectionsOf(supplementary(file.elf, folder, opened)),
  });
}

function sectionsOf(elf: ElfFile | undefined): DwarfSections | undefined {
  return elf === undefined ? undefined : elfDwarfSections(elf);
}

function supplementary(elf: ElfFile, folder: string, opened: OpenedFiles): ElfFile | undefined {
  const link = elf.debugAltLink();
  if (link === undefined) return undefined;
  const { name, buildId } = link;
  const paths = [
    name.startsWith("/") ? name : `${folder}/${name}`,
    `/usr/lib/debug/.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}.debug`,
    // The layout of debuginfod clients' cache.
    `${folder}/../${buildId}/debuginfo`,
  ];
  for (const path of paths) {
    const candidate = opened.elf(path);
    if (candidate === undefined) continue;
    const found = readableBuildId(candidate);
    // With another build, offsets would give arbitrary names.
    if (found !== undefined && buildIdsEqual(found, buildId)) return candidate;
    opened.refused.push({
      path,
      origin: "debuglink",
      ...(found === undefined
        ? { reason: "no build id" }
        : { reason: "build id differs", buildId: found }),
    });
  }
  return undefined;
}
