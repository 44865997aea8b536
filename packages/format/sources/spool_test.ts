import { assertEquals } from "@std/assert";
import { featuresFirst, held, memoryFile, spooled, tempStore } from "./spool.ts";
import { isRandomAccess, type StreamSource, type TempFile } from "./source.ts";

/** A stream that gives its bytes in pieces. */
function streamOf(bytes: Uint8Array, piece: number): StreamSource {
  let at = 0;
  return {
    read(into) {
      const part = bytes.subarray(at, at + Math.min(piece, into.length));
      into.set(part);
      at += part.length;
      return part.length;
    },
  };
}

/** The start of a recording: its magic, and the size of its header. */
function recording(headerSize: number): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.from({ length: 50_000 }, (_, i) => i * 7 % 251);
  new TextEncoder().encodeInto("PERFILE2", bytes);
  new DataView(bytes.buffer).setBigUint64(8, BigInt(headerSize), true);
  return bytes;
}

async function all(source: StreamSource): Promise<Uint8Array> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const block = new Uint8Array(1000);
  for (let n = await source.read(block); n > 0; n = await source.read(block)) {
    parts.push(block.slice(0, n));
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

Deno.test("spool: a stream held in memory or in a file is read at any offset", async () => {
  const bytes = recording(104);
  let file = new Uint8Array(0);
  const temp: TempFile = {
    writeAt(part, position) {
      const longer = new Uint8Array(Math.max(file.length, position + part.length));
      longer.set(file);
      longer.set(part, position);
      file = longer;
    },
    readAt(into, position) {
      const part = file.subarray(position, position + into.length);
      into.set(part);
      return part.length;
    },
    close() {},
  };
  for (
    const source of [
      await held(streamOf(bytes, 9_973)),
      await spooled(streamOf(bytes, 9_973), () => temp),
    ]
  ) {
    assertEquals(source.size, bytes.length);
    const part = new Uint8Array(10);
    assertEquals(await source.readAt(part, 49_995), 5);
    assertEquals(part.subarray(0, 5), bytes.subarray(49_995));
  }
  assertEquals(file, bytes);
});

Deno.test("spool: features first: a stream of a file is held, a pipe stays a stream, whole", async () => {
  const [file, pipe] = [recording(104), recording(16)];
  const ofFile = await featuresFirst(streamOf(file, 7));
  assertEquals(isRandomAccess(ofFile) && ofFile.size, file.length);
  const ofPipe = await featuresFirst(streamOf(pipe, 7));
  assertEquals(isRandomAccess(ofPipe), false);
  if (!isRandomAccess(ofPipe)) assertEquals(await all(ofPipe), pipe);
  assertEquals(isRandomAccess(await featuresFirst(ofFile)), true);
});

Deno.test("memoryFile: bytes written across 16 MB are read again, and those after the last are not", () => {
  const store = tempStore(memoryFile());
  const border = 1 << 24;
  store.write(new Uint8Array(border - 2));
  store.write(Uint8Array.of(1, 2, 3, 4));
  store.writeAt(Uint8Array.of(9), border - 1);
  const into = new Uint8Array(8);
  assertEquals([store.size, store.readAt(into, border - 3)], [border + 2, 5]);
  assertEquals([...into.subarray(0, 5)], [0, 1, 9, 3, 4]);
  assertEquals(store.readAt(into, border + 2), 0);
});
