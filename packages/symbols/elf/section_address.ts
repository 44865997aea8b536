import type { Address } from "../resolver/address.ts";
import { ET, SHF } from "./elf_constants.ts";
import type { ElfFile, ElfSection } from "./elf_file.ts";

const layouts = new WeakMap<ElfFile, readonly Address[]>();

/**
 * The address of a section, as used in this package.
 *
 * In a linked file it is `sh_addr`. In a relocatable file (`ET_REL`: a kernel module, a `.o`) all
 * sections are at 0, so loaded sections are laid out one after another as the kernel's module
 * loader does (`layout_sections` in kernel/module/main.c): executable ones from address 0 in file
 * order, then read-only ones, then the rest, and at the end `.init*` sections, which the loader
 * stores elsewhere and frees. For executable sections, an address in a module minus the module's
 * address in /proc/modules or the kernel's mmap record is an address in this layout.
 *
 * Symbols and relocated debug information use the same layout.
 */
export function sectionAddress(elf: ElfFile, section: ElfSection): Address {
  if (elf.type !== ET.REL) return section.addr;
  let layout = layouts.get(elf);
  if (layout === undefined) {
    layout = layOut(elf.sections);
    layouts.set(elf, layout);
  }
  return layout[section.index] ?? 0;
}

const PAGE = 4096;

function layOut(sections: readonly ElfSection[]): Address[] {
  const addresses = new Array<Address>(sections.length).fill(0);
  const init = (s: ElfSection): boolean => s.name.startsWith(".init");
  const executable = (s: ElfSection): boolean => (s.flags & SHF.EXECINSTR) !== 0;
  const writable = (s: ElfSection): boolean => (s.flags & SHF.WRITE) !== 0;
  const passes: ((s: ElfSection) => boolean)[] = [
    (s) => !init(s) && executable(s),
    (s) => !init(s) && !executable(s) && !writable(s),
    (s) => !init(s) && !executable(s) && writable(s),
    (s) => init(s),
  ];
  let at = 0;
  for (const wanted of passes) {
    for (const section of sections) {
      if ((section.flags & SHF.ALLOC) === 0 || !wanted(section)) continue;
      const align = Math.max(section.addralign, 1);
      at = Math.ceil(at / align) * align;
      addresses[section.index] = at;
      at += section.size;
    }
    at = Math.ceil(at / PAGE) * PAGE;
  }
  return addresses;
}
