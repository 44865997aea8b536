// Measures writing, opening and querying a symbol bundle of 200,000 addresses.
//
//   deno bench -A bench/symbol_bundle_bench.ts
import { type Frame, SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import { SymbolBundle } from "@perfdata/symbols";
import { resolution } from "@perfdata/symbols/resolver";

const COUNT = 200_000;
const info = { path: "/usr/bin/program", kind: "elf", buildId: "ab".repeat(20) } as const;

function write(): Uint8Array {
  const writer = new SymbolBundleWriter();
  const show = (name: string): string => name;
  for (let i = 0; i < COUNT; i++) {
    const outer = i >> 5;
    const frame = (name: string, line: number, inlined: boolean): Frame => ({
      function: name,
      linkageName: `_Z${name.length}${name}v`,
      file: `/src/file${outer >> 4}.cc`,
      line,
      column: 0,
      discriminator: 0,
      inlined,
    });
    const frames = [
      frame(`inner${i % 97}`, i % 1000, true),
      frame(`outer${outer}`, (i >> 2) % 500, false),
    ];
    const start = outer * 32 * 7;
    const symbol = { name: `_Zouter${outer}`, start, end: start + 32 * 7 };
    writer.add(info, i * 7, resolution(symbol, frames, show));
  }
  return writer.finish();
}

const bytes = write();
const bundle = SymbolBundle.open(bytes);
const object = bundle.object(info);
if (object === undefined) throw new Error("the object is there");
const addresses = Float64Array.from({ length: 10_000 }, (_, i) => (i * 7919 % COUNT) * 7);
console.log(`${COUNT} addresses, ${bytes.length} bytes`);

Deno.bench("write 200,000 addresses", () => void write());
Deno.bench("open a bundle of 200,000 addresses", () => void SymbolBundle.open(bytes));
Deno.bench("look 10,000 addresses up", () => {
  for (const address of addresses) object.find(address);
});
