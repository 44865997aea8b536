import { Buffer } from "node:buffer";
import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import type { AuxPiece, AuxStream } from "@perfdata/session/auxtrace";
import { type AuxFileCopy, copyAuxToFiles } from "./aux_file_copy.ts";

const MB = 1 << 20;

/** A stream of pieces at these offsets of a file. */
function streamOf(cpu: number, places: readonly [offset: number, size: number, overlap: number][]) {
  const pieces: AuxPiece[] = [];
  const stream: AuxStream = { idx: cpu, cpu, tid: undefined, pieces, auxRecords: 0, flags: 0 };
  for (const [fileOffset, size, overlap] of places) {
    pieces.push({
      ...{ stream, fileOffset, size, overlap, missing: 0, flags: 0 },
      ...{ auxOffset: undefined, reference: 0n, gap: 0n },
    });
  }
  return stream;
}

/** Bytes whose values depend on their file offset. */
const recording = new Uint8Array(16 * MB);
new Uint32Array(recording.buffer).forEach((_, i, words) => words[i] = Math.imul(i, 0x9e3779b1));

Deno.test("copyAuxToFiles: both threads together write what the pieces say", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-copy-" });
  try {
    const from = `${folder}/recording`;
    Deno.writeFileSync(from, recording);
    const piece = fc.nat({ max: recording.length }).chain((offset) =>
      fc.nat({ max: Math.min(7 * MB, recording.length - offset) }).chain((size) =>
        fc.tuple(fc.constant(offset), fc.constant(size), fc.nat({ max: size }))
      )
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(piece, { maxLength: 8 }), { maxLength: 4 }),
        fc.constantFrom(0, Infinity),
        async (streams, leastToShare) => {
          const copies = streams.map((places, cpu): AuxFileCopy => {
            const path = `${folder}/cpu${cpu}`;
            Deno.writeFileSync(path, new Uint8Array());
            return { stream: streamOf(cpu, places), path };
          });
          let reported = 0;
          await copyAuxToFiles(from, copies, { leastToShare, progress: (n) => reported += n });
          let total = 0;
          for (const [cpu, { path }] of copies.entries()) {
            const expected = (streams[cpu] ?? []).map(([offset, size, overlap]) =>
              recording.subarray(offset + overlap, offset + size)
            );
            const found = Deno.readFileSync(path);
            let at = 0;
            for (const bytes of expected) {
              // `assertEquals` of megabytes takes seconds.
              const same = found.subarray(at, at += bytes.length);
              assertEquals(Buffer.compare(same, bytes), 0, `cpu ${cpu} before ${at}`);
            }
            assertEquals(found.length, at);
            total += at;
          }
          assertEquals(reported <= total, true);
        },
      ),
      { numRuns: 12 },
    );
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("copyAuxToFiles: what one thread cannot write is reported", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-copy-" });
  try {
    const from = `${folder}/recording`;
    Deno.writeFileSync(from, recording);
    // The second thread begins with the last stream.
    const whole = streamOf(0, [[0, recording.length, 0]]);
    const lost = streamOf(1, [[0, recording.length, 0]]);
    Deno.writeFileSync(`${folder}/cpu0`, new Uint8Array());
    const copies = [
      { stream: whole, path: `${folder}/cpu0` },
      { stream: lost, path: `${folder}/none/cpu1` },
    ];
    for (const leastToShare of [0, Infinity]) {
      await assertRejects(() => copyAuxToFiles(from, copies, { leastToShare }), Error, "cpu1");
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
