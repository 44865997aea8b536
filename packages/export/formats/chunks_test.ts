/** Chunks belong to their receiver: later output does not change them. */
import { assert, assertEquals } from "@std/assert";
import { callgrind } from "./callgrind.ts";
import { chrome } from "./chrome.ts";
import { perfetto } from "./perfetto.ts";
import { firefox } from "./firefox.ts";
import { folded } from "./folded.ts";
import { pprof } from "./pprof.ts";
import { speedscope } from "./speedscope.ts";
import { gzipped } from "./gzipped.ts";
import { plainSamples, profileOf } from "../testing.ts";

const FORMATS = { callgrind, chrome, firefox, folded, perfetto, pprof, speedscope } as const;

/** Decodes chunks. */
function text(chunks: readonly Uint8Array[]): string {
  return chunks.map((chunk) => new TextDecoder("latin1").decode(chunk)).join("");
}

for (const [name, format] of Object.entries(FORMATS)) {
  Deno.test(`${name}: chunks belong to their receiver`, async () => {
    // Enough samples for several chunks.
    for (let count = 5000, several = false; !several; count *= 2) {
      const profile = profileOf(plainSamples(count, 5, 400));
      const kept = [...format(profile)];
      several = kept.length >= 3;
      if (!several) continue;
      const one: Uint8Array[] = [];
      for (const chunk of format(profile)) one.push(chunk.slice());
      assertEquals(kept.map(({ length }) => length), one.map(({ length }) => length));
      assert(text(kept) === text(one), `${name}: chunks that were kept differ`);
      const packed = await Array.fromAsync(gzipped(format(profile)));
      const unpacked = new Blob(packed as Uint8Array<ArrayBuffer>[]).stream().pipeThrough(
        new DecompressionStream("gzip"),
      );
      const again = new Uint8Array(await new Response(unpacked).arrayBuffer());
      assert(text([again]) === text(one), `${name}: what was packed differs`);
    }
  });
}
