import { assertEquals } from "@std/assert";
import { intAt } from "@perfdata/format/bytes";
import { ProfileBuilder } from "../collecting/profile_builder.ts";
import { frameStacks } from "./frame_stacks.ts";

Deno.test("frameStacks: unmapped callers that follow one another are one frame, recursion is not", () => {
  const builder = new ProfileBuilder({ events: [] });
  const unknown = (address: number) => builder.place(-1, address, [{ name: "" }]);
  const work = builder.place(-1, 0x10, [{ name: "work" }]);
  const leaf = (addresses: readonly number[]) => {
    let stack = builder.stack(-1, work);
    for (const address of addresses) stack = builder.stack(stack, unknown(address));
    return builder.stack(builder.stack(stack, work), work);
  };
  const short = leaf([1]);
  const long = leaf([2, 3, 4, 5]);
  const { parent, item, of } = frameStacks(builder.profile(), { by: "function" });
  assertEquals(of[short], of[long]);
  const chain: number[] = [];
  for (let row = intAt(of, long); row >= 0; row = intAt(parent, row)) {
    chain.push(intAt(item, row));
  }
  const [w, u] = [item[0], item[1]];
  // The chain is work, [unknown], work, work: innermost first.
  assertEquals(chain, [w, w, u, w]);
});
