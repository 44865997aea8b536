import { assertEquals } from "@std/assert";
import { KERNEL_RECORDS, RecordCodec } from "@perfdata/format/records";
import { type Frame, SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import { SymbolBundle } from "@perfdata/symbols";
import { resolution } from "@perfdata/symbols/resolver";
import { Machine } from "../machine/machine.ts";
import { Places } from "../places/places.ts";
import { RecordedObjects } from "../places/recorded_objects.ts";
import { type BundleNames, BundlePlaceSymbols } from "./place_symbols.ts";

const codec = new RecordCodec(KERNEL_RECORDS);
const PROGRAM = { path: "/usr/bin/program", kind: "elf", buildId: "ab".repeat(20) } as const;
const PLUGIN = { path: "/usr/lib/plugin.so", kind: "elf" } as const;
const THREAD = 7;

function frame(name: string, line: number, inlined: boolean): Frame {
  return {
    function: name,
    linkageName: undefined,
    file: "a.c",
    line,
    column: 0,
    discriminator: 0,
    inlined,
  };
}

function bundle(): SymbolBundle {
  const writer = new SymbolBundleWriter();
  const same = (name: string) => name;
  const main = { name: "_ZN3foo3barEi", start: 0x1000, end: 0x1040 };
  const frames = [frame("inner", 3, true), frame("_ZN3foo3barEi", 9, false)];
  writer.add(PROGRAM, 0x1010, resolution(main, frames, same));
  writer.add(PROGRAM, 0x100f, resolution(main, [frame("_ZN3foo3barEi", 8, false)], same));
  writer.add(PLUGIN, 0x2010, resolution({ name: "load", start: 0x2000, end: 0x2040 }, [], same));
  return SymbolBundle.open(writer.finish());
}

/** A machine, its places and their symbols. */
class Recording {
  readonly machine = new Machine();
  readonly places = new Places(
    this.machine,
    new RecordedObjects({ littleEndian: true, isGoogleDialect: false }),
  );
  readonly symbols: BundlePlaceSymbols;

  constructor(options: BundleNames = {}) {
    this.symbols = new BundlePlaceSymbols(bundle(), options);
    this.symbols.start(this);
  }

  row(lo: number): number {
    return this.places.find(this.machine.thread(THREAD, THREAD), 2, 0, lo);
  }
}

/** Maps the pages of a file from `pgoff` on at 0x400000. */
function map({ machine }: Recording, filename: string, pgoff: bigint, build?: string): void {
  const bytes = codec.encode(
    {
      type: 10,
      name: "MMAP2",
      misc: build === undefined ? 2 : 0x4002,
      body: {
        pid: THREAD,
        tid: THREAD,
        addr: 0x400000n,
        len: 0x1000n,
        pgoff,
        ...(build === undefined ? { maj: 0, min: 0, ino: 0n, ino_generation: 0n } : {
          build_id_size: 20,
          __reserved_1: 0,
          __reserved_2: 0,
          build_id: new Uint8Array(20).fill(parseInt(build, 16)),
        }),
        prot: 5,
        flags: 2,
        filename,
      },
    } as Parameters<typeof codec.encode>[0],
  );
  machine.apply(bytes, new DataView(bytes.buffer, bytes.byteOffset), 0, bytes.length);
}

Deno.test("BundlePlaceSymbols: an address has the symbol of the object mapped at that time", () => {
  const recording = new Recording();
  const { symbols } = recording;
  const row = (lo: number) => recording.row(lo);
  assertEquals(symbols.symbol(row(0x400010)).dso, undefined);
  map(recording, PROGRAM.path, 0x1000n, "ab");
  const first = row(0x400010);
  assertEquals(symbols.symbol(first), {
    dso: PROGRAM.path,
    name: "foo::bar",
    verified: true,
    offset: 0x10,
    srcline: "a.c:9",
    inlined: [{ name: "inner", srcline: "a.c:3" }],
  });
  // The line of a return address is that of the call.
  assertEquals(symbols.caller(first).srcline, "a.c:8");
  assertEquals(symbols.symbol(row(0x400020)).name, undefined);
  map(recording, PLUGIN.path, 0x2000n);
  assertEquals(symbols.symbol(row(0x400010)), {
    dso: PLUGIN.path,
    name: "load",
    verified: false,
    offset: 0x10,
    srcline: undefined,
    inlined: [],
  });
  assertEquals([symbols.addresses, [...symbols.unnamed]], [4, [["unmapped", 1], [
    "no symbols",
    1,
  ]]]);
  assertEquals([...symbols.otherBuilds], []);
});

Deno.test("BundlePlaceSymbols: a bundle entry of another build id is reported and not used", () => {
  const recording = new Recording();
  const { symbols } = recording;
  map(recording, PROGRAM.path, 0x1000n, "cd");
  const row = recording.row(0x400010);
  assertEquals(symbols.symbol(row).name, undefined);
  assertEquals([...symbols.otherBuilds], [PROGRAM.path]);
});

Deno.test("BundlePlaceSymbols: with demangle: false, names are mangled", () => {
  const recording = new Recording({ demangle: false });
  const { symbols } = recording;
  map(recording, PROGRAM.path, 0x1000n, "ab");
  const row = recording.row(0x400010);
  assertEquals(symbols.symbol(row).name, "_ZN3foo3barEi");
});
