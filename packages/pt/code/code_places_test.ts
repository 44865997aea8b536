import { assertEquals } from "@std/assert";
import { SymbolBundle, SymbolResolver } from "@perfdata/symbols";
import { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import type { Resolution } from "@perfdata/symbols/resolver";
import type { Item } from "../../../fixtures/synthesize/recording.ts";
import { at, psb, small } from "../testing.ts";
import { CodeRecorder } from "./pt_bundle.ts";
import { PtCode } from "./pt_code.ts";
import { missingCode, PtNames, shortObject } from "./pt_names.ts";

function map(
  pid: number,
  addr: bigint,
  filename: string,
  { misc = 2, len = 0x1000n, pgoff = 0n } = {},
): Item {
  return {
    record: {
      ...{ type: 10, name: "MMAP2", misc },
      body: {
        ...{ pid, tid: pid, addr, len, pgoff, maj: 8, min: 1, ino: 42n, ino_generation: 0n },
        ...{ prot: 5, flags: 2, filename },
      },
      sample_id: { pid, tid: pid, time: at(-800), cpu: 0, identifier: 21n },
    } as Item["record"],
    event: 1,
  };
}

const KERNEL = 0xffff_ffff_8100_0000n;
const ITEMS: readonly Item[] = [
  map(7, 0x4000n, "/bin/other", { pgoff: 0x300n }),
  map(7, 0x8000n, "//anon"),
  map(-1, KERNEL, "[kernel.kallsyms]_text", { misc: 1, len: 0x100_0000n, pgoff: KERNEL }),
  map(-1, 0xffff_ffff_c000_0000n, "/lib/modules/6.1.0/ext4.ko", { misc: 1 }),
];

async function opened() {
  const { trace, names } = await small({ cpus: [psb(0)], items: ITEMS });
  const { sideband, code } = trace;
  const space = code.space(7, sideband.origin.since(at(0)));
  const place = (high: number, low: number) => {
    const number = code.place(space, low | 0, high);
    const object = code.places.object(number);
    return `${code.places.objects[object]?.path ?? object} ${
      code.places.address(number).toString(16)
    }`;
  };
  return { trace, names, space, place };
}

Deno.test("PtCode: an address of each kind of mapping gives the address in its object", async () => {
  const { trace, place } = await opened();
  const { code } = trace;
  assertEquals([place(0, 0x1010), place(0, 0x4010)], ["/bin/small 10", "/bin/other 310"]);
  // Generated code has addresses in memory, modules from their start.
  assertEquals([place(0, 0x8010), place(-1, 0xc000_0010)], [
    "/tmp/perf-7.map 8010",
    "/lib/modules/6.1.0/ext4.ko 10",
  ]);
  // The name has no reference symbol.
  assertEquals(place(-1, 0x8100_0010).split(" ")[0], "[kernel.kallsyms]");
  // Unmapped addresses, in user space and in the kernel.
  assertEquals([place(0, 0x9000), place(-1, 0xe000_0000)], ["-1 9000", "-3 -20000000"]);
  assertEquals(code.places.objects.map(({ kind }) => kind), [
    "elf",
    "elf",
    "jit",
    "module",
    "kernel",
  ]);
  assertEquals(place(0, 0x1fff), "/bin/small fff");
});

Deno.test("PtCode: code is read from the mapped file; missing code has a reason", async () => {
  const { trace, space } = await opened();
  const { code, sideband } = trace;
  const range = space.find(0x1010, 0);
  assertEquals(range?.window(0x10)?.bytes[0x10 - (range.window(0x10)?.from ?? 0)], 0x90);
  assertEquals(space.find(0x1011, 0), range);
  assertEquals([space.find(0x9000, 0), space.find(0x8010, 0)], [undefined, undefined]);
  assertEquals([...code.missing], [["/tmp/perf-7.map", "no jitdump"]]);
  // Missing files are opened once.
  const asked: string[] = [];
  const without = new PtCode(sideband, {
    open: ({ path }) => {
      asked.push(path);
      return { missing: "file missing" };
    },
    file: () => undefined,
  });
  const other = without.space(7, 0);
  for (
    const [low, high] of [[0x1010, 0], [0x1020, 0], [0x4000, 0], [0x8100_0000 | 0, -1], [
      0x8100_0010 | 0,
      -1,
    ]] as const
  ) {
    assertEquals(other.find(low, high), undefined);
  }
  assertEquals(asked.slice(0, 2), ["/bin/small", "/bin/other"]);
  assertEquals([asked.length, missingCode(without).split(", ").slice(0, 2)], [3, [
    "/bin/other: file missing",
    "/bin/small: file missing",
  ]]);
  assertEquals(other.find(0x1010, 0), undefined);
});

Deno.test("PtCode: a guest has the code of its images, and none of the host's", async () => {
  const { trace } = await opened();
  const { sideband } = trace;
  const source = {
    size: 64,
    read: (from: number, length: number) => Uint8Array.from({ length }, (_, i) => from + i),
  };
  const image = { address: 0x1000n, size: 32, offset: 8, source, path: "/guest/vmlinux" };
  const code = new PtCode(
    sideband,
    { open: () => ({ missing: "no" }), file: () => undefined },
    [],
    [image],
  );
  const guest = code.space(7, 0, true);
  const place = (low: number) => {
    const number = code.place(guest, low, 0);
    return `${code.places.objects[code.places.object(number)]?.path} ${
      code.places.address(number).toString(16)
    }`;
  };
  // Address in the file, where the code has the offset 8.
  assertEquals([place(0x1004), place(0x2000)], ["/guest/vmlinux c", "[guest] 2000"]);
  assertEquals([guest.map(0x1004, 0), guest.isGuest], [-1, true]);
  assertEquals(guest.find(0x1004, 0)?.window(4)?.bytes.length !== 0, true);
  assertEquals([guest.find(0x2000, 0), [...code.missing.keys()]], [undefined, ["[guest]"]]);
  assertEquals(code.space(7, 0).find(0x1004, 0), undefined);
});

Deno.test("PtCode: code that was overwritten just before an address is read correctly", async () => {
  const { trace } = await opened();
  const { sideband, code } = trace;
  assertEquals(code.isPokedBefore(0x1000, 8), false);
  sideband.pokes.push({ time: 1, low: 0x1000, high: 2, bytes: Uint8Array.of(1) });
  const poked = new PtCode(sideband, { open: () => ({ missing: "" }), file: () => undefined });
  const address = 2 * 2 ** 32 + 0x1000;
  assertEquals([0, 1, 8, 9].map((n) => poked.isPokedBefore(address + n, 8)), [
    false,
    true,
    true,
    false,
  ]);
});

/** A symbol that begins 4 bytes before the address, with a line. */
function resolution(name: string, start: number, line = 0): Resolution {
  return {
    symbol: { name, start, end: start + 0x20 },
    frames: [{
      ...{ name, function: name, linkageName: undefined, scope: undefined },
      ...{ file: line > 0 ? "a.c" : undefined, line, column: 0, discriminator: 0, inlined: false },
    }],
    cause: undefined,
  };
}

Deno.test("PtNames: places have function, offset, object, line and trust; those without a name say why", async () => {
  const { trace, space } = await opened();
  const { code } = trace;
  const places = [0x1010, 0x1014, 0x4010, 0x9000].map((low) => code.place(space, low, 0));
  const writer = new SymbolBundleWriter();
  const object = { path: "/bin/small", kind: "elf" } as const;
  writer.addObject(object);
  writer.add(object, 0x10, resolution("f", 0x10, 3));
  writer.add(object, 0x14, resolution("f", 0x10));
  const files = { open: () => undefined, read: () => undefined };
  const resolver = new SymbolResolver(files, { bundle: SymbolBundle.open(writer.finish()) });
  const names = new PtNames(code, resolver);
  await names.resolve();
  assertEquals(
    places.map((place) => [names.names[place], names.offsets[place], names.ends[place]]),
    [
      ["f", 0, 0x30],
      ["f", 4, 0x30],
      // Address in the object.
      ["0x310", -1, -1],
      ["0x9000", -1, -1],
    ],
  );
  // No build id proves that the file is the one that ran.
  assertEquals(places.map((place) => names.described(place)), [
    "f? (/bin/small)",
    "f?+0x4 (/bin/small)",
    "0x310 (/bin/other)",
    "0x9000 ([unknown])",
  ]);
  assertEquals(names.jsonOf(1), '"function":"f+0x4","object":"/bin/small","verified":false');
  assertEquals(names.jsonOfFunction(1), '"function":"f","object":"/bin/small","verified":false');
  assertEquals([names.line(0), names.line(1)], ["a.c:3", undefined]);
  assertEquals([names.functions.slice(0, 4), names.functionNames.map(({ name }) => name)], [
    [0, 0, 1, 2],
    ["f", "[unknown]", "[unknown]"],
  ]);
  assertEquals([names.symbols[0], names.symbols[2], names.trustOf("f"), names.trustOf("g")], [
    ...["f", undefined, { verified: false }, {}],
  ]);
  assertEquals([names.count, names.unverified, names.causes()], [
    4,
    ["/bin/small", "/bin/small"],
    "file missing (1), unmapped (1)",
  ]);
  assertEquals([0, 2, 3, -1].map((place) => names.perfObject(place)), [
    ...["/bin/small", "/bin/other", "[unknown]", "[unknown]"],
  ]);
  // Places that were not executed are left out.
  names.limitTo(Uint8Array.of(0, 1, 0, 1));
  assertEquals([names.count, names.unverified, names.causes()], [
    2,
    ["/bin/small"],
    "unmapped (1)",
  ]);
  // Later places.
  const later = code.place(space, 0x1010 + 0x20, 0);
  await names.resolve();
  assertEquals([names.names[later], names.object(later), names.names.length], [
    "0x30",
    "/bin/small",
    5,
  ]);
  assertEquals([shortObject({ path: "/usr/lib/a.so" }), shortObject({ path: "[vdso]" })], [
    "a.so",
    "[vdso]",
  ]);
  names.close();
});

Deno.test("CodeRecorder: adjacent ranges of a file are joined", () => {
  const source = (size: number) => ({
    size,
    read: (offset: number, length: number) => Uint8Array.from({ length }, (_, i) => offset + i),
  });
  const recorder = new CodeRecorder({
    open: ({ path }) => path === "/none" ? { missing: "no file" } : { source: source(100) },
    file: (path) => path === "/jit" ? source(50) : undefined,
  });
  const read = (path: string, ...ranges: [number, number][]) => {
    const found = recorder.open({ path, kind: "elf" });
    if ("source" in found) {
      for (const [offset, length] of ranges) found.source.read(offset, length);
    }
    return found;
  };
  read("/a", [40, 10], [0, 10]);
  read("/a", [10, 5], [48, 4], [60, 2]);
  read("/unread");
  assertEquals(read("/none"), { missing: "no file" });
  recorder.file("/jit")?.read(7, 3);
  assertEquals(recorder.file("/other"), undefined);
  const files = [...recorder.bundled()].map(({ path, size, parts }) => [
    ...[path, size],
    ...parts.map(({ offset, bytes }) => `${offset}+${bytes.length} ${bytes[0]}`),
  ]);
  assertEquals(files, [["/a", 100, "0+15 0", "40+12 40", "60+2 60"], ["/jit", 50, "7+3 7"]]);
});
