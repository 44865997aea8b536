import { assert, assertEquals } from "@std/assert";
import { bytesSource } from "@perfdata/symbols/resolver";
import { ElfFile } from "@perfdata/symbols";
import { packSections } from "./packed_sections.ts";
import { Random } from "./random.ts";

Deno.test("packed sections: they expand to the original or more, and the rest of the file is unchanged", () => {
  const demo = Deno.readFileSync(new URL("../../fixtures/demo/demo", import.meta.url));
  const before = ElfFile.open(bytesSource(demo));
  let compared = 0, longer = 0;
  for (let seed = 0; seed < 8; seed++) {
    const elf = ElfFile.open(bytesSource(packSections(demo, new Random(seed))));
    assertEquals(elf.buildId(), before.buildId());
    for (const name of [".debug_info", ".debug_abbrev", ".debug_line", ".debug_str"]) {
      const [was, is] = [before, elf].map((file) => {
        const section = file.sections.find((found) => found.name === name);
        assert(section !== undefined);
        return file.sectionData(section);
      });
      assert(was !== undefined && is !== undefined && is.length >= was.length);
      if (is.length === was.length) assertEquals(is, was);
      else longer++;
      compared++;
    }
  }
  assert(compared === 32 && longer > 0 && longer < 24, `${compared} compared, ${longer} longer`);
});
