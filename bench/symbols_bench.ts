/**
 * Measures symbol lookup, demangling and opening files: `deno bench -A bench/symbols_bench.ts`.
 * Divide the times by the numbers in the names.
 */

import {
  demangle,
  Demangler,
  ElfFile,
  readElfSymbols,
  SymbolTableBuilder,
} from "@perfdata/symbols";
import { openBinaryFile } from "@perfdata/symbols/files";

const SYMBOLS = 100_000;
const LOOKUPS = 1_000_000;

const builder = new SymbolTableBuilder();
const name = { strings: builder.addStrings(new Uint8Array(1)), offset: 0, length: 0 };
let end = 0x401000;
for (let i = 0; i < SYMBOLS; i++) {
  const size = 16 + Math.floor(Math.random() * 500);
  builder.add(end, size, name);
  end += Math.ceil(size / 16) * 16;
}
const table = builder.build();
const addresses = Float64Array.from(
  { length: LOOKUPS },
  () => 0x401000 + Math.floor(Math.random() * (end - 0x401000)),
);

let sink = 0;

Deno.bench("1,000,000 look-ups of random addresses in 100,000 symbols", () => {
  for (let i = 0; i < LOOKUPS; i++) sink += table.lookup(addresses[i] ?? 0);
});

Deno.bench("100,000 symbols added and made a table", () => {
  const builder = new SymbolTableBuilder();
  const name = { strings: builder.addStrings(new Uint8Array(1)), offset: 0, length: 0 };
  for (let i = 0; i < SYMBOLS; i++) {
    builder.add(0x401000 + ((i * 7919) % SYMBOLS) * 32, 16, name);
  }
  builder.fixup();
  sink += builder.build().size;
});

const libraries = ["/usr/lib/x86_64-linux-gnu/libstdc++.so.6"].filter((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    console.log(`skipped: ${path} is not here`);
    return false;
  }
});

for (const path of libraries) {
  Deno.bench(`headers of ${path}`, () => {
    using source = openBinaryFile(path);
    sink += ElfFile.open(source).sections.length;
  });

  Deno.bench(`symbol table of ${path}`, () => {
    using source = openBinaryFile(path);
    sink += readElfSymbols(ElfFile.open(source)).table.size;
  });

  using source = openBinaryFile(path);
  const { table } = readElfSymbols(ElfFile.open(source));
  const names = Array.from({ length: table.size }, (_, i) => table.name(i));
  Deno.bench(`${names.length} C++ names demangled`, () => {
    for (const name of names) sink += demangle(name).length;
  });

  const demangler = new Demangler();
  Deno.bench(`${names.length} C++ names from memory`, () => {
    for (const name of names) sink += demangler.demangle(name).length;
  });
}

addEventListener("unload", () => console.assert(sink !== 1));
