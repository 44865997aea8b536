import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { crc32 } from "node:zlib";
import { addressToHex } from "@perfdata/symbols/resolver";
import { type Frame, SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import { SymbolBundle } from "@perfdata/symbols";
import { BundleError } from "./bundle_format.ts";
import { type BundleObjectInfo } from "./bundle_writer.ts";
import { type ObjectKind, resolution, unresolved } from "../resolver/resolution.ts";
import { type SymbolInfo } from "../table/symbol_table.ts";
import { UNRESOLVED_CAUSES } from "../resolver/trust_report.ts";

const asIs = (name: string): string => name;

function frame(fields: Partial<Frame>): Frame {
  return {
    function: undefined,
    linkageName: undefined,
    file: undefined,
    line: 0,
    column: 0,
    discriminator: 0,
    inlined: false,
    ...fields,
  };
}

/** A copy with a correct checksum, so that the damage is not found by the checksum. */
function mended(bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice();
  if (copy.length >= 20) new DataView(copy.buffer).setUint32(12, crc32(copy.subarray(16)), true);
  return copy;
}

/**
 * A bundle of one object with one address, laid out by hand from docs/symbol-bundle.md.
 *
 * @param kind Kind of the symbol: 1 for data.
 */
function byHand(kind = 0): Uint8Array {
  const words: number[] = [];
  const text = (letters: string) => {
    const bytes = new TextEncoder().encode(letters);
    for (let i = 0; i < bytes.length; i += 4) {
      words.push(
        (bytes[i] ?? 0) | (bytes[i + 1] ?? 0) << 8 | (bytes[i + 2] ?? 0) << 16 |
          (bytes[i + 3] ?? 0) << 24,
      );
    }
  };
  text("PERFSYMS");
  words.push(2, 0, /* checksum */ 0, /* size */ 0);
  const sections = words.length;
  words.push(...Array(16).fill(0));
  const section = (index: number, count: number, body: () => void) => {
    if (words.length % 2 === 1) words.push(0);
    words[sections + 2 * index] = words.length * 4;
    words[sections + 2 * index + 1] = count;
    body();
  };
  // build id (3 bytes), its size, kind "elf" and machine x86-64, path, reference, origin, parts
  const kinds = 0x003e_0103;
  section(0, 1, () => words.push(0x00030201, 0, 0, 0, 0, kinds, 1, 0, 0, 0, 1, 0, 1, 0, 1, 5));
  section(1, 1, () => words.push(0x1000, 0, 0x500, 0, 0x401000, 0));
  section(2, 1, () => words.push(0x1100, 0, 0x40, 0, 2, kind));
  section(3, 1, () => words.push(0x1110, 0, 2, 1, 2, 0));
  section(
    4,
    2,
    () => words.push(2, 4, 30, 7, 0, 0, /* inlined: */ 1, 4, 12, 0, 3, /* called in: */ 1),
  );
  section(5, 2, () => words.push(5, 6, 7, 2, 0, 2));
  section(6, 5, () => words.push(0x04030201, 5));
  // strings: "" "/bin/x" "main" "" "x.c" "f" "_Z1fv" "f()"
  section(7, 8, () => words.push(0, 6, 10, 10, 13, 14, 19, 22));
  text("/bin/x" + "main" + "x.c" + "f" + "_Z1fv" + "f()");
  const bytes = new Uint8Array(Int32Array.from(words).buffer);
  const size = bytes.length - 2; // The 22 bytes of text are padded to 24.
  const cut = bytes.slice(0, size);
  new DataView(cut.buffer).setUint32(16, size, true);
  return mended(cut);
}

Deno.test("SymbolBundle.open: a bundle laid out by hand gives its object, symbol and frames", () => {
  const bundle = SymbolBundle.open(byHand());
  assertEquals(bundle.objects.map(({ info }) => info), [{
    path: "/bin/x",
    kind: "elf",
    buildId: "010203",
    segments: [{ offset: 0x1000, size: 0x500, address: 0x401000 }],
  }]);
  const object = bundle.object({ path: "/elsewhere/x", kind: "elf", buildId: "010203" });
  assert(object !== undefined);
  const entry = {
    start: 0x1110,
    end: 0x1112,
    symbol: { name: "main", start: 0x1100, end: 0x1140 },
    frames: [
      frame({
        function: "f",
        linkageName: "_Z1fv",
        file: "x.c",
        line: 12,
        discriminator: 3,
        inlined: true,
      }),
      frame({ function: "main", file: "x.c", line: 30, column: 7 }),
    ],
    cause: undefined,
  };
  assertEquals([...object.entries()], [entry]);
  assertEquals(object.find(0x1111), entry);
  assertEquals([object.find(0x110f), object.find(0x1112)], [undefined, undefined]);
  assertEquals(object.unwinding, { machine: 62, section: Uint8Array.of(1, 2, 3, 4, 5) });
});

Deno.test("SymbolBundle.find: a symbol's kind tells data from functions", () => {
  const [object] = SymbolBundle.open(byHand(1)).objects;
  assertEquals(object?.find(0x1110)?.symbol, {
    name: "main",
    start: 0x1100,
    end: 0x1140,
    data: true,
  });
  assertThrows(() => SymbolBundle.open(byHand(2)), BundleError, "kind of a symbol: 2");
});

Deno.test("SymbolBundle.object: a build id is matched first, the path only without build id", () => {
  const writer = new SymbolBundleWriter();
  const info = { path: "/bin/x", kind: "elf", buildId: "aa".repeat(20) } as const;
  writer.addObject(info);
  writer.addObject({ path: "/tmp/perf-7.map", kind: "jit" });
  writer.addObject({ path: "[k]", kind: "kernel", buildId: "bb", reference: "_text" });
  const bundle = SymbolBundle.open(writer.finish());
  const path = (wanted: Parameters<typeof bundle.object>[0]) => bundle.object(wanted)?.info.path;
  assertEquals(path(info), "/bin/x");
  assertEquals(path({ ...info, path: "/moved" }), "/bin/x");
  const other = { ...info, buildId: "ab".repeat(20) };
  assertEquals(path(other), undefined);
  assertEquals(bundle.otherBuilds(other).map(({ info }) => info.buildId), [info.buildId]);
  assertEquals(path({ path: "/bin/x", kind: "elf" }), undefined);
  assertEquals(path({ path: "/tmp/perf-7.map", kind: "jit" }), "/tmp/perf-7.map");
  assertEquals(path({ path: "/tmp/perf-8.map", kind: "jit" }), undefined);
  // Records pad build ids with zeros.
  const padded = "bb".padEnd(40, "0");
  assertEquals(
    path({ path: "[k]", kind: "kernel", buildId: padded, reference: "_text" }),
    "[k]",
  );
  assertEquals(
    path({ path: "[k]", kind: "kernel", buildId: "bb", reference: "_stext" }),
    undefined,
  );
});

const KINDS: ObjectKind[] = ["elf", "kernel", "module", "vdso", "jit", "bpf"];
const address = fc.integer({ min: -(2 ** 40), max: 2 ** 47 });
const name = fc.string({ minLength: 1, maxLength: 8, unit: "grapheme" })
  // Lone surrogates cannot be encoded in UTF-8.
  .filter((text) => text.isWellFormed());
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const frames = fc.array(
  fc.record({
    function: fc.option(name, { nil: undefined }),
    linkageName: fc.option(name, { nil: undefined }),
    file: fc.option(name, { nil: undefined }),
    line: u32,
    column: u32,
    discriminator: u32,
  }),
  { maxLength: 4 },
).map((list): Frame[] => list.map((f, i) => ({ ...f, inlined: i + 1 < list.length })));
const symbol = fc.option(
  fc.record({
    name,
    start: address,
    size: fc.integer({ min: 0, max: 2 ** 40 }),
    data: fc.constantFrom({}, { data: true }),
  }).map(({ name, start, size, data }): SymbolInfo => ({
    name,
    start,
    end: start + size,
    ...data,
  })),
  { nil: undefined },
);
const answer = fc.oneof(
  fc.tuple(symbol, frames).filter(([s, f]) => s !== undefined || f.length > 0)
    .map(([s, f]) => resolution(s, f, asIs)),
  fc.constantFrom(...UNRESOLVED_CAUSES).map(unresolved),
);
const object = fc.record({
  path: name,
  kind: fc.constantFrom(...KINDS),
  buildId: fc.option(
    fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) =>
      Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
    ),
    { nil: undefined },
  ),
  reference: fc.option(name, { nil: undefined }),
  origin: fc.option(name, { nil: undefined }),
  segments: fc.array(fc.record({ offset: u32, size: u32, address }), {
    minLength: 1,
    maxLength: 2,
  }),
}).map((info): BundleObjectInfo =>
  Object.fromEntries(
    Object.entries(info).filter(([, value]) => value !== undefined),
  ) as unknown as BundleObjectInfo
);
const contents = fc.array(
  fc.tuple(object, fc.uniqueArray(fc.tuple(address, answer), { selector: ([at]) => at })),
  { maxLength: 4 },
).filter((list) => {
  const keys = list.map(([{ path, kind, buildId, reference }]) =>
    [path, kind, buildId, reference].join()
  );
  return new Set(keys).size === keys.length;
});

type Contents = typeof contents extends fc.Arbitrary<infer T> ? T : never;

function written(list: Contents, demangle = asIs): Uint8Array<ArrayBuffer> {
  const writer = new SymbolBundleWriter({ demangle });
  for (const [info, addresses] of list) {
    writer.addObject(info);
    for (const [at, resolution] of addresses) writer.add(info, at, resolution);
  }
  return writer.finish();
}

Deno.test("SymbolBundleWriter: entries are found again at their addresses and at no others", () => {
  fc.assert(fc.property(contents, address, (list, elsewhere) => {
    const bundle = SymbolBundle.open(written(list));
    assertEquals(bundle.objects.length, list.length);
    for (const [info, addresses] of list) {
      const found = bundle.objects.find((object) =>
        object.info.path === info.path && object.info.kind === info.kind &&
        object.info.buildId === info.buildId && object.info.reference === info.reference
      );
      assertEquals(found?.info, info);
      for (const [at, { symbol, frames, cause }] of addresses) {
        const entry = found?.find(at);
        assertEquals(entry?.symbol, symbol);
        assertEquals(entry?.cause, cause);
        const expected = frames.map(({ name: _, ...frame }) => frame);
        assertEquals(entry?.frames, expected, addressToHex(at));
      }
      if (!addresses.some(([at]) => at === elsewhere)) {
        assertEquals(found?.find(elsewhere), undefined);
      }
    }
  }));
});

Deno.test("SymbolBundleWriter: the order of add() does not change the bytes", () => {
  fc.assert(fc.property(contents, (list) => {
    const backwards: Contents = list.toReversed().map(([info, addresses]) => [
      info,
      addresses.toReversed(),
    ]);
    assertEquals(written(backwards), written(list));
  }));
});

Deno.test("SymbolBundleWriter: adjacent addresses with equal entries become one range", () => {
  const writer = new SymbolBundleWriter();
  const info = { path: "/bin/x", kind: "elf" } as const;
  const main = resolution({ name: "main", start: 0x100, end: 0x200 }, [], asIs);
  for (const at of [0x102, 0x101, 0x100, 0x104]) writer.add(info, at, main);
  const [object] = SymbolBundle.open(writer.finish()).objects;
  assertEquals([...object?.entries() ?? []].map(({ start, end }) => [start, end]), [
    [0x100, 0x103],
    [0x104, 0x105],
  ]);
});

Deno.test("SymbolBundleWriter: values that the format cannot hold are refused", () => {
  const writer = new SymbolBundleWriter();
  const answer = unresolved("no symbols");
  for (const buildId of ["abc", "zz", "AB", "00".repeat(21)]) {
    assertThrows(() => writer.addObject({ path: "x", kind: "elf", buildId }), RangeError);
  }
  for (const at of [0.5, 2 ** 53, NaN]) {
    assertThrows(() => writer.add({ path: "x", kind: "elf" }, at, answer), RangeError);
  }
});

/** Opens a bundle and reads every entry. Returns false if the bundle is refused. */
function accepted(bytes: Uint8Array): boolean {
  let bundle: SymbolBundle;
  try {
    bundle = SymbolBundle.open(bytes);
  } catch (error) {
    assert(error instanceof BundleError, String(error));
    assert(error.offset >= 0 && error.offset <= bytes.length, `offset ${error.offset}`);
    return false;
  }
  for (const object of bundle.objects) {
    for (const entry of object.entries()) assertEquals(object.find(entry.start), entry);
  }
  return true;
}

Deno.test("SymbolBundle.open: each flipped bit fails the checksum", () => {
  const bytes = byHand();
  assert(accepted(bytes));
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert(!accepted(flipped), `bit ${bit}`);
  }
});

Deno.test("SymbolBundle.open: a truncated bundle, or one with a byte too many, is refused", () => {
  const bytes = byHand();
  for (let length = 0; length < bytes.length; length++) {
    assert(!accepted(bytes.subarray(0, length)), `${length} bytes`);
    const cut = bytes.slice(0, length);
    if (length >= 20) new DataView(cut.buffer).setUint32(16, length, true);
    // A correct size and checksum do not help.
    assert(!accepted(mended(cut)), `${length} bytes, mended`);
  }
  assert(!accepted(Uint8Array.from([...bytes, 0])));
});

Deno.test("SymbolBundle: damage under a correct checksum gives a BundleError or look-ups that work", () => {
  const bytes = byHand();
  let refused = 0;
  for (let at = 0; at < bytes.length; at++) {
    for (const value of [0x00, 0x01, 0x7f, 0x80, 0xff]) {
      const damaged = bytes.slice();
      damaged[at] = value;
      if (!accepted(mended(damaged))) refused++;
    }
  }
  assert(refused > 300, `${refused} refused`);
  fc.assert(
    fc.property(
      contents,
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), {
        minLength: 1,
        maxLength: 8,
      }),
      (list, changes) => {
        const damaged = written(list).slice();
        for (const [at, value] of changes) damaged[16 + at % (damaged.length - 16)] = value;
        accepted(mended(damaged));
      },
    ),
    { numRuns: 2000 },
  );
});

Deno.test("SymbolBundle.open: errors name the offset and the field", () => {
  const bytes = byHand();
  const view = new DataView(bytes.buffer);
  const change = (at: number, value: number): Uint8Array => {
    const changed = bytes.slice();
    new DataView(changed.buffer).setUint32(at, value, true);
    return mended(changed);
  };
  const section = (index: number) => view.getUint32(24 + 8 * index, true);
  const cases: [number, number, string][] = [
    [8, 3, "0x8: bundle version 3, expected 2"],
    [24, 89, "0x18: section objects"],
    [28, 0xffff_ffff, "0x18: section objects"],
    [section(0) + 24, 8, "string of an object: 8, expected less than 8"],
    [section(0) + 20, 0x0703, "kind of object 7"],
    [section(0) + 48, 2, "2 ranges from number 0, expected them from number 0, and there are 1"],
    [section(2) + 16, 3, "function of a symbol: 3, expected 1 to 2"],
    [section(0) + 44, 1, "1 ranges from number 1, expected them from number 0"],
    [section(3) + 8, 0, "range 0 is empty"],
    [section(3) + 4, 0x7fff_ffff, "start of a range"],
    [section(3) + 20, 9, "cause of a range"],
    // A frame that is its own caller.
    [section(4) + 44, 2, "caller of a frame: 2, expected less than 2"],
    [section(0) + 60, 6, "6 bytes to unwind with, expected at most 5"],
    [section(7), 9, "string 1 ends at 6, expected 9"],
  ];
  for (const [at, value, message] of cases) {
    assertThrows(() => SymbolBundle.open(change(at, value)), BundleError, message);
  }
});
