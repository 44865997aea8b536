import { assertEquals } from "@std/assert";
import type { ElfFile } from "@perfdata/symbols";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import { recordedBinary } from "./recorded_binary.ts";

/** An ELF file of which only the build id is read. */
const elf = (buildId?: string) => ({ buildId: () => buildId }) as unknown as ElfFile;
const object = (path: string, buildId?: string): SymbolObject => ({ path, kind: "elf", buildId });

Deno.test("recorded binary: it is found by build id, or without one by name; otherwise with a reason", () => {
  const objects = [object("/a/prog", "aa"), object("/b/prog", "bb"), object("/c/other", "cc")];
  const found = (objects: readonly SymbolObject[], id?: string) => {
    const { isBinary, how, why } = recordedBinary({ objects }, elf(id), "./prog");
    return [objects.map((_, i) => isBinary(i)), how, why];
  };
  assertEquals(found(objects, "bb")[0], [false, true, false]);
  assertEquals(found(objects, "dd"), [
    [false, false, false],
    "",
    "; /a/prog there has build id aa",
  ]);
  const unnamed = [object("/a/prog"), object("/c/other")];
  assertEquals(found(unnamed, "bb"), [
    [true, false],
    ", known by its name only: no build id was recorded",
    "",
  ]);
  // An object of the same name without a build id does not count if another object has the build
  // id.
  assertEquals(found([object("/a/prog"), object("/b/prog", "bb")], "bb")[0], [false, true]);
});
