import { assert, assertEquals } from "@std/assert";
import { ProfileBuilder } from "@perfdata/profile";
import { callTree } from "./call_tree.ts";
import { treeLines } from "./tree_text.ts";

/** Function names that differ in their template arguments, which do not fit into a line. */
const TYPES = ["int", "long", "std::string", "a::very::long::name::of::a::type", "b::another::one"];
const NAMES = TYPES.flatMap((type) => [
  `std::vector<${type}, std::allocator<${type}>>::push_back(${type} const&)`,
  `std::map<std::pair<${type}, ${type}>, unsigned long>::find(${type} const&)`,
  `<alloc::vec::Vec<${type}> as core::ops::drop::Drop>::drop`,
]);

Deno.test("treeLines: lines fit the terminal, and callees of a function differ", () => {
  const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
  const object = builder.object({ name: "program", path: "/program" });
  const thread = builder.thread(7, 7, "demo");
  let place = 0;
  const stack = (parent: number, name: string) =>
    builder.stack(parent, builder.place(object, place++, [{ name }]));
  const main = stack(-1, "main");
  for (const name of NAMES) {
    const outer = stack(main, name);
    builder.sample({ stack: outer, event: 0, thread, period: 10 });
    for (const inner of NAMES) {
      builder.sample({ stack: stack(outer, inner), event: 0, thread, period: 10 });
    }
  }
  const tree = callTree(builder.profile(), { event: 0 });
  const whole = treeLines(tree, { leastShare: 0 });
  assertEquals(whole.length, 2 + NAMES.length * (NAMES.length + 1));
  let shortened = 0;
  for (let columns = 60; columns < 160; columns += 7) {
    const lines = treeLines(tree, { leastShare: 0, columns });
    assertEquals(lines.length, whole.length);
    for (const line of lines) assert(line.length <= columns, line);
    const names = (from: number) =>
      lines.slice(from, from + NAMES.length).map((line) => line.slice(27).replace(/^[ │├└→]+/, ""));
    for (let outer = 0; outer < NAMES.length; outer++) {
      const inner = names(3 + outer * (NAMES.length + 1));
      assertEquals(new Set(inner).size, NAMES.length, inner.join("\n"));
    }
    shortened += lines.filter((line) => line.includes("…")).length;
    const cut = treeLines(tree, { leastShare: 0, columns, fullNames: true });
    for (const [i, line] of cut.entries()) {
      assert(line === whole[i] || line === `${whole[i]?.slice(0, columns - 1)}…`, line);
    }
  }
  assert(shortened > 500, `${shortened} lines`);
});
