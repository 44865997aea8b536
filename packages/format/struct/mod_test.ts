import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { PerfDataError } from "../error.ts";
import {
  array,
  bitfield,
  bytes,
  chars,
  type Codec,
  countedBy,
  counter,
  cString,
  decode,
  encode,
  f64,
  headerString,
  i32,
  i64,
  optional,
  paddedText,
  reserved,
  struct,
  u16,
  u32,
  u64,
  u8,
  when,
} from "./mod.ts";

const ascii = (text: string) => new TextEncoder().encode(text);

Deno.test("integers: decode and encode in both byte orders", () => {
  const all = struct("all", { a: u8, b: u8, c: u16, d: i32, e: u64, f: i64, g: u32, h: f64 });
  const little = Uint8Array.from([
    ...[0x01, 0xff],
    ...[0x34, 0x12],
    ...[0xfe, 0xff, 0xff, 0xff],
    ...[8, 7, 6, 5, 4, 3, 2, 0x81],
    ...[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ...[0, 0, 0, 0x80],
    ...[0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
  ]);
  const value = {
    a: 1,
    b: 255,
    c: 0x1234,
    d: -2,
    e: 0x8102030405060708n,
    f: -1n,
    g: 0x80000000,
    h: 1,
  };
  assertEquals(decode(all, little).value, value);
  assertEquals(encode(all, value), little);
  const big = Uint8Array.from([
    ...[0x01, 0xff],
    ...[0x12, 0x34],
    ...[0xff, 0xff, 0xff, 0xfe],
    ...[0x81, 2, 3, 4, 5, 6, 7, 8],
    ...[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ...[0x80, 0, 0, 0],
    ...[0x3f, 0xf0, 0, 0, 0, 0, 0, 0],
  ]);
  assertEquals(decode(all, big, { littleEndian: false }).value, value);
  assertEquals(encode(all, value, { littleEndian: false }), big);
});

Deno.test("chars: padding other than zeros is kept", () => {
  const comm = struct("comm", { comm: chars(8), rest: paddedText });
  const clean = Uint8Array.from([...ascii("ls"), 0, 0, 0, 0, 0, 0, ...ascii("/bin/ls"), 0]);
  assertEquals(decode(comm, clean).value, { comm: "ls", rest: "/bin/ls" });
  const dirty = Uint8Array.from([...ascii("ls"), 0, 7, 0, 0, 0, 0, ...ascii("/b"), 0, 0]);
  const { value } = decode(comm, dirty);
  assertEquals(value, {
    comm: "ls",
    comm_pad: Uint8Array.of(0, 7, 0, 0, 0, 0),
    rest: "/b",
    rest_pad: Uint8Array.of(0, 0),
  });
  assertEquals(encode(comm, value), dirty);
});

Deno.test("headerString: is padded to a multiple of 64 bytes, as perf does", () => {
  const encoded = encode(headerString, "x86_64");
  assertEquals(encoded.length, 4 + 64);
  assertEquals([...encoded.subarray(0, 12)], [64, 0, 0, 0, ...ascii("x86_64"), 0, 0]);
  assertEquals(decode(headerString, encoded), { value: "x86_64" });
  // A text of 64 bytes needs another 64 for its NUL.
  assertEquals(encode(headerString, "y".repeat(64)).length, 4 + 128);
});

Deno.test("cString: text without a NUL is an error", () => {
  assertThrows(() => decode(cString, ascii("abc")), PerfDataError, "no terminating NUL");
});

Deno.test("array: a count beyond the bytes is an error, without allocation", () => {
  const chain = struct("chain", { nr: counter(u64, "ips"), ips: array(u64, countedBy("nr")) });
  const bytes = new Uint8Array(16).fill(0xff);
  const error = assertThrows(() => decode(chain, bytes, { base: 0x100 }), PerfDataError);
  assertEquals((error as PerfDataError).offset, 0x108n);
});

Deno.test("array: padding inside elements is kept", () => {
  const list = struct("list", { of: array(struct("e", { name: chars(4) }), 2) });
  const bytes = Uint8Array.from([...ascii("a"), 0, 1, 0, ...ascii("b"), 0, 0, 0]);
  const { value } = decode(list, bytes);
  assertEquals(value.of[1], { name: "b" });
  assertEquals(encode(list, value), bytes);
});

Deno.test("when, reserved, optional: absent fields are absent from the value", () => {
  const record = struct("r", {
    kind: u8,
    extra: when({ field: "kind", is: 1 }, u8),
    zeros: reserved(2),
    late: optional(u16),
  });
  assertEquals(decode(record, Uint8Array.of(1, 9, 0, 0)).value, { kind: 1, extra: 9 });
  assertEquals(decode(record, Uint8Array.of(0, 0, 5, 3, 4)).value, {
    kind: 0,
    zeros: Uint8Array.of(0, 5),
    late: 0x403,
  });
});

Deno.test("bitfield: is mirrored in a big-endian file", () => {
  // As gcc lays out { a:1, b:2, c:5 } in a 64-bit word: from bit 0 upward, or from bit 63 downward.
  const bits = bitfield("bits", { a: 1, b: 2, c: 5 });
  const value = { a: true, b: 2, c: 19 };
  assertEquals(encode(bits, value), Uint8Array.of(0b10011_10_1, 0, 0, 0, 0, 0, 0, 0));
  assertEquals(
    encode(bits, value, { littleEndian: false }),
    Uint8Array.of(0b1_10_10011, 0, 0, 0, 0, 0, 0, 0),
  );
});

Deno.test("bitfield: encoding restores any word, in both byte orders", () => {
  const bits = bitfield("bits", { a: 1, b: 2, c: 16, d: 7 });
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 8, maxLength: 8 }), fc.boolean(), (word, le) => {
      const options = { littleEndian: le };
      assertEquals(encode(bits, decode(bits, word, options).value, options), word);
    }),
  );
});

Deno.test("decode: the trace's nested fields cover all bytes of a structure", () => {
  const inner = struct("inner", { x: u16, y: u16 });
  const outer = struct("outer", { n: counter(u8, "list"), list: array(inner, countedBy("n")) });
  const seen: string[] = [];
  const open: [string, number][] = [];
  decode(outer, Uint8Array.of(1, 2, 0, 3, 0), {
    trace: {
      begin: (name: string, _codec: Codec<unknown>, at: number) => open.push([name, at]),
      end(at) {
        const from = open[open.length - 1]?.[1];
        seen.push(`${open.map(([part]) => part).join(".")} ${from}-${at}`);
        open.pop();
      },
    },
  });
  assertEquals(seen, [
    "n 0-1",
    "list.[0].x 1-3",
    "list.[0].y 3-5",
    "list.[0] 1-5",
    "list 1-5",
  ]);
});

Deno.test("bytes: the value is a copy, not a view", () => {
  const input = Uint8Array.of(1, 2);
  const { value } = decode(bytes(2), input);
  input[0] = 9;
  assertEquals(value, Uint8Array.of(1, 2));
});
