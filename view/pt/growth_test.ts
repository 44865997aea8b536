import { assert, assertEquals } from "@std/assert";
import { Numbers } from "../../fixtures/synthesize/recording.ts";
import { testSeed } from "../../tests/support/seed.ts";
import { bytesUpTo } from "./growth.ts";

Deno.test("bytesUpTo: never decreases, is exact at each point, and ends at the size", () => {
  const numbers = new Numbers(testSeed());
  let compared = 0;
  for (let round = 0; round < 200; round++) {
    const at: number[] = [];
    const time: number[] = [];
    let [bytes, now] = [0, numbers.below(50)];
    for (let n = 1 + numbers.below(20); n > 0; n--) {
      at.push(bytes);
      time.push(now);
      bytes += 1 + numbers.below(5000);
      now += 1 + numbers.below(100);
    }
    const growth = {
      at: Float64Array.from([...at, bytes]),
      time: Float64Array.from([...time, now]),
      size: bytes,
    };
    assertEquals(time.map((when) => bytesUpTo(growth, when)), at);
    assertEquals([bytesUpTo(growth, -1), bytesUpTo(growth, now), bytesUpTo(growth, now + 1)], [
      ...[0, bytes, bytes],
    ]);
    let before = 0;
    for (let when = 0; when <= now; when++) {
      const upTo = bytesUpTo(growth, when);
      assert(upTo >= before, `${upTo} after ${before}`);
      before = upTo;
      compared++;
    }
  }
  assertEquals(bytesUpTo({ at: new Float64Array(0), time: new Float64Array(0), size: 9 }, 5), 0);
  assert(compared > 5000, `${compared} moments`);
});
