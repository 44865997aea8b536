import { ET } from "../elf/elf_constants.ts";
import type { ElfFile } from "../elf/elf_file.ts";
import { relocatedSectionData } from "../elf/relocate.ts";
import type { DwarfSections } from "./sections.ts";

/**
 * The debug sections of an ELF file, for a {@linkcode DwarfContext}. Compressed or relocatable
 * sections (of a kernel module) are read whole, others in parts.
 *
 * @example
 * ```ts
 * import { DwarfContext, elfDwarfSections } from "@perfdata/symbols/dwarf";
 * import { ElfFile } from "@perfdata/symbols";
 * import { openBinaryFile } from "@perfdata/symbols/files";
 * import { assertEquals } from "@std/assert";
 *
 * using source = openBinaryFile(Deno.execPath());
 * const context = DwarfContext.open(elfDwarfSections(ElfFile.open(source)));
 * assertEquals(context.find(0), []);
 * ```
 */
export function elfDwarfSections(elf: ElfFile): DwarfSections {
  return {
    littleEndian: elf.littleEndian,
    get(name) {
      const section = elf.debugSection(name);
      return section === undefined ? undefined : relocatedSectionData(elf, section);
    },
    open(name) {
      const section = elf.type === ET.REL ? undefined : elf.debugSection(name);
      return section === undefined ? undefined : elf.sectionSource(section);
    },
  };
}
