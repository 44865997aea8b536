import { assert, assertEquals } from "@std/assert";
import { type Finder, finderOf, foundName, searchNames } from "./search.ts";

const NAME = "std::map<int, std::vector<long>, app::Compare>::find(app::Key const&, unsigned long)";

Deno.test("finderOf: a text or an expression gives its place in the name", () => {
  for (
    const [query, part] of [["APP::key", "app::Key"], ["/f.n./", "find"], ["/K[a-z]+/", "Key"]]
  ) {
    const find = finderOf(query as string) as Finder;
    assertEquals(NAME.slice(...(find(NAME) ?? [])), part);
    assertEquals(find("main"), undefined);
  }
  assert(finderOf("/(/") instanceof Error);
  assertEquals([finderOf(""), searchNames([NAME], "")], [undefined, undefined]);
  assertEquals(searchNames([NAME, "main"], "/^m/"), Uint8Array.of(0, 1));
});

Deno.test("foundName: any room keeps the found part, if it fits", () => {
  for (const query of ["Compare", "std", "find", "unsigned", "/Key const/"]) {
    const find = finderOf(query) as Finder;
    const [from = 0, to = 0] = find(NAME) ?? [];
    for (let room = 1; room <= NAME.length + 1; room++) {
      const shown = foundName(NAME, room, find);
      assert(shown.length <= room, `${room}: ${shown}`);
      // Each ellipsis takes a character of the room.
      if (room >= to - from + 2) assert(find(shown) !== undefined, `${query} in ${room}: ${shown}`);
    }
  }
  assertEquals(foundName(NAME, 20, undefined), "std::map<…>::find(…)");
});
