import { assertEquals } from "@std/assert";
import { bytesSource, isRandomAccess, type StreamSource } from "@perfdata/format/bytes";
import { held } from "@perfdata/format/records";
import { hasIntelPt, intelPtAhead } from "./intel_pt_ahead.ts";

const bytesOf = (name: string) =>
  Deno.readFileSync(new URL(`../../../fixtures/${name}.perf.data`, import.meta.url));

/** A stream that gives the bytes in pieces of 1000. */
function streamOf(bytes: Uint8Array): StreamSource {
  let at = 0;
  return {
    read(into) {
      const part = bytes.subarray(at, at + Math.min(1000, into.length));
      into.set(part);
      at += part.length;
      return part.length;
    },
  };
}

Deno.test("hasIntelPt: files and streams with AUX data of Intel PT have it, others have not", async () => {
  const names = {
    "synthesized/pt-cpus": true,
    "synthesized/pt-cpus-pipe": true,
    "recorded/callchain": false,
    "recorded/pipe": false,
  };
  for (const [name, expected] of Object.entries(names)) {
    const bytes = bytesOf(name);
    assertEquals(await hasIntelPt(bytesSource(bytes)), expected, name);
    const ahead = await intelPtAhead(streamOf(bytes));
    assertEquals(ahead.hasIntelPt, expected, name);
    // A stream with Intel PT can be read again.
    assertEquals(isRandomAccess(ahead.source), expected, name);
    const whole = await held(ahead.source);
    const read = new Uint8Array(whole.size);
    assertEquals([await whole.readAt(read, 0), read], [bytes.length, bytes], name);
  }
});
