import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";
import { bytesSource } from "./source.ts";
import { bzip2Parts } from "./bzip2.ts";

async function expanded(bytes: Uint8Array): Promise<Uint8Array> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const part of bzip2Parts(bytesSource(bytes))) parts.push(part);
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function packed(bytes: Uint8Array<ArrayBuffer>, level = 9): Promise<Uint8Array<ArrayBuffer>> {
  const child = new Deno.Command("bzip2", { args: [`-${level}c`], stdin: "piped", stdout: "piped" })
    .spawn();
  const written = new Blob([bytes]).stream().pipeTo(child.stdin);
  const { stdout } = await child.output();
  await written;
  return stdout;
}

const reason = ignored(notInstalled("bzip2"));
/** Pseudo-random bytes of any length; blocks of bzip2 have at least 100,000. */
function noise(length: number, values: number): Uint8Array<ArrayBuffer> {
  let state = 12345;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 16) % values;
  });
}

Deno.test("bzip2Parts: output of bzip2 expands to its input", reason, async () => {
  const runs = fc.array(fc.tuple(fc.nat(255), fc.integer({ min: 1, max: 1200 })));
  let compared = 0;
  const compare = async (bytes: Uint8Array<ArrayBuffer>, level: number): Promise<void> => {
    assertEquals(await expanded(await packed(bytes, level)), bytes);
    compared++;
  };
  await fc.assert(
    fc.asyncProperty(runs, fc.integer({ min: 1, max: 9 }), async (runs, level) => {
      await compare(Uint8Array.from(runs.flatMap(([byte, n]) => Array(n).fill(byte))), level);
    }),
    { numRuns: 40 },
  );
  for (const values of [1, 2, 3, 256]) await compare(noise(350_000, values), 1);
  await compare(noise(1_000_000, 256), 9);
  await compare(new Uint8Array(5_000_000), 9);
  for (const length of [0, 1, 3, 4, 5, 258, 259, 260]) await compare(new Uint8Array(length), 5);
  console.log(`${compared} files compared`);
  assert(compared >= 50);
});

Deno.test("bzip2Parts: several streams in a file are concatenated", reason, async () => {
  const [a, b] = [noise(150_000, 7), noise(999, 256)];
  const both = new Uint8Array([...await packed(a, 1), ...await packed(b, 9)]);
  assertEquals(await expanded(both), new Uint8Array([...a, ...b]));
});

Deno.test("bzip2Parts: a file cut anywhere, or with a flipped bit, throws", reason, async () => {
  const bytes = noise(3000, 11);
  const whole = await packed(bytes);
  for (let length = 0; length < whole.length; length++) {
    await assertRejects(() => expanded(whole.subarray(0, length)), Error, "", `${length}`);
  }
  let same = 0;
  for (let bit = 0; bit < 8 * whole.length; bit += 3) {
    const changed = whole.slice();
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ 1 << (bit & 7);
    try {
      // Flips in the final padding, or to a larger block size, do not change the output.
      assertEquals(await expanded(changed), bytes, `bit ${bit}`);
      same++;
    } catch (error) {
      if (error instanceof Error && error.name === "AssertionError") throw error;
    }
  }
  assert(same < 40, `${same} changes do not matter`);
});
