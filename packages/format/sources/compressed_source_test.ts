import { assertEquals, assertRejects } from "@std/assert";
import { bytesSource } from "./source.ts";
import { expandedStream } from "./compressed_source.ts";
import { PerfDataError } from "../error.ts";
import { recordingInTar } from "./tar_source.ts";

/** The text "as it was", compressed by xz 5.4. */
const XZ = Uint8Array.from(
  ("fd377a585a000004e6d6b4460200210116000000742fe5a301000861732069742077617300000000" +
    "5804cdc4d605e4f7000121096c18c5d51fb6f37d010000000004595a").match(/../g) ?? [],
  (pair) => parseInt(pair, 16),
);

Deno.test("expandedStream: xz expands while another xz stream is open or abandoned", async () => {
  const open = await expandedStream(bytesSource(XZ), "xz");
  for (let i = 0; i < 2; i++) {
    const other = await expandedStream(bytesSource(XZ), "xz");
    assertEquals(await new Response(other).text(), "as it was");
  }
  assertEquals(await new Response(open).text(), "as it was");
});

Deno.test("recordingInTar: all reads of an archive without a recording throw the same error", async () => {
  // A POSIX header of an empty file; two blocks of zeros end the archive.
  const header = new Uint8Array(512);
  const put = (text: string, at: number) => header.set(new TextEncoder().encode(text), at);
  put("notes.txt", 0);
  put("00000000000", 124);
  put("        0", 148);
  put("ustar\u000000", 257);
  const sum = header.reduce((sum, byte) => sum + byte, 0);
  put(sum.toString(8).padStart(6, "0") + "\0 ", 148);
  let at = 0;
  const bytes = new Uint8Array(3 * 512);
  bytes.set(header);
  const source = recordingInTar({
    read(into) {
      const part = bytes.subarray(at, at + into.length);
      into.set(part);
      at += part.length;
      return Promise.resolve(part.length);
    },
  });
  for (let i = 0; i < 2; i++) {
    const read = async () => await source.read(new Uint8Array(8));
    await assertRejects(read, PerfDataError, "none of notes.txt is a recording");
  }
});
