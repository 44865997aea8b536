import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { addressFromBigInt } from "../resolver/address.ts";
import { findKallsym, isKallsymsRestricted, readKallsyms, readKallsymsAt } from "./kallsyms.ts";
import { skipped } from "../../../tests/support/ignored.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const TEXT = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T startup_64
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000040 t local_one
ffffffff81000100 W weak_one
ffffffff81000100 t strong_one
ffffffff81000200 D data_one
ffffffff81000300 R read_only
ffffffff81000300 b bss_one
ffffffffc0000000 t $d	[mod_a]
ffffffffc0000010 t a_init	[mod_a]
ffffffffc0000100 T a_run	[mod_a]
ffffffffc0001000 t b_init	[mod_b]
ffffffffc0002000 t bpf_prog_6deef7357e7b4530	[bpf]
`;

Deno.test("readKallsyms: types and aliases are chosen as in perf", () => {
  const { table, modules, restricted, malformed } = readKallsyms(bytes(TEXT));
  assertEquals(restricted, false);
  assertEquals(malformed, 0);
  assertEquals(modules, ["", "mod_a", "mod_b", "bpf"]);
  const rows = Array.from({ length: table.size }, (_, i) => {
    const size = table.end(i) - table.start(i);
    return `${table.name(i)} ${size.toString(16)} ${modules[table.group(i)]}`.trim();
  });
  assertEquals(rows, [
    // The last of several symbols at one address is kept.
    "_text 40",
    "local_one c0",
    "strong_one 100",
    "data_one 100",
    "bss_one 1d00", // to the end of the next page, not to the module
    "a_init f0 mod_a",
    "a_run f00 mod_a",
    "b_init 1000 mod_b",
    "bpf_prog_6deef7357e7b4530 1000 bpf",
  ]);
  const at = (address: bigint): string => table.name(table.lookup(addressFromBigInt(address)));
  assertEquals(at(0xffffffff810000ffn), "local_one");
  assertEquals(at(0xffffffffc00000ffn), "a_init");
  assertEquals(at(0xffffffffb0000000n), "");
  assertEquals(at(0n), "");
});

Deno.test("readKallsyms: hidden addresses are reported", () => {
  const hidden = TEXT.replaceAll(/^[0-9a-f]+/gm, "0000000000000000");
  const { table, restricted } = readKallsyms(bytes(hidden));
  assertEquals(restricted, true);
  assertEquals(table.size, 0);
  assertEquals(readKallsyms(bytes("")).restricted, false);
});

Deno.test("findKallsym: a symbol of any type is found by name", () => {
  assertEquals(findKallsym(bytes(TEXT), "read_only"), addressFromBigInt(0xffffffff81000300n));
  assertEquals(findKallsym(bytes(TEXT), "_text"), addressFromBigInt(0xffffffff81000000n));
  assertEquals(findKallsym(bytes(TEXT), "a_run"), addressFromBigInt(0xffffffffc0000100n));
  assertEquals(findKallsym(bytes(TEXT), "a_ru"), undefined);
});

Deno.test("readKallsyms: malformed lines are counted, 32-bit addresses and an unterminated last line are read", () => {
  const { table, malformed } = readKallsyms(
    bytes("what is this\nc1000000 T a\nffffffff810000000 T too_long\nc1000010 T\n\nc1000020 t b"),
  );
  assertEquals(malformed, 3);
  assertEquals(table.get(0), { name: "a", start: 0xc1000000, end: 0xc1000020 });
  assertEquals(table.name(1), "b");
});

Deno.test("readKallsyms: the running kernel's list is read", async (t) => {
  let text: Uint8Array;
  try {
    text = Deno.readFileSync("/proc/kallsyms");
  } catch (error) {
    await skipped(t, `${(error as Error).message}`);
    return;
  }
  const { malformed, restricted, table } = readKallsyms(text);
  assertEquals(malformed, 0);
  if (restricted || text.length === 0) {
    await skipped(t, "/proc/kallsyms shows no addresses here");
    return;
  }
  const lines = new TextDecoder().decode(text).split("\n");
  const names = new Map<string, string[]>();
  for (const [address = "", , name = ""] of lines.map((line) => line.split(/[ \t]/))) {
    const aliases = names.get(address) ?? [];
    aliases.push(name);
    names.set(address, aliases);
  }
  const functions = lines.filter((line) => / [tT] [^$.]\w+$/.test(line)).slice(1000, 1500);
  assert(functions.length > 0);
  for (const line of functions) {
    const [address = "", , name] = line.split(" ");
    const found = table.lookup(addressFromBigInt(BigInt("0x" + address)));
    assertEquals(addressFromBigInt(BigInt("0x" + address)), table.start(found));
    assert(names.get(address)?.includes(table.name(found)), `${name} is ${table.name(found)}`);
  }
});

Deno.test("readKallsymsAt: look-ups of the addresses equal those in a full table", () => {
  // Few distinct addresses, unsorted, so that symbols of kernel and modules share some.
  const line = fc.record({
    address: fc.constantFrom(
      0,
      8,
      0x3ff8,
      -0x8000,
      -0x7ff0,
      -0x7f00,
      -0x7000,
      -0x6ff8,
      -0x5000,
      -8,
    ),
    type: fc.constantFrom("T", "t", "W", "D", "b", "A", "r"),
    name: fc.constantFrom("a", "_b", "long_name", "$d", "SyS_c"),
    module: fc.constantFrom("", "", "\t[m]", "\t[n]"),
    blank: fc.nat({ max: 40 }).map((n) => n === 0 ? " " : ""),
  });
  const asked = fc.array(fc.integer({ min: -0x9000, max: 0x5000 }));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), asked, (lines, asked) => {
      const text = bytes(
        lines.map(({ address, type, name, module, blank }) => {
          const digits = BigInt.asUintN(64, BigInt(address)).toString(16).padStart(16, "0");
          return `${blank}${digits} ${type} ${name}${module}\n`;
        }).join(""),
      );
      const { table: whole, restricted } = readKallsyms(text);
      assertEquals(isKallsymsRestricted(text), restricted);
      if (restricted) return;
      const addresses = Float64Array.from(asked).sort();
      const some = readKallsymsAt(text, addresses);
      for (const address of addresses) {
        const found = some.lookup(address);
        const expected = whole.lookup(address);
        assertEquals(some.get(found), whole.get(expected));
        assertEquals(some.type(found), whole.type(expected));
        assertEquals(some.group(found) === 0, whole.group(expected) === 0);
      }
    }),
    { numRuns: 2000 },
  );
});

Deno.test("readKallsymsAt: a copy truncated anywhere has the symbols of its lines", () => {
  const whole = bytes(TEXT.split("\n").slice(1, 5).join("\n"));
  const address = addressFromBigInt(0xffffffff81000008n);
  for (let size = 0; size <= whole.length; size++) {
    const cut = whole.slice(0, size);
    const { table } = readKallsyms(cut);
    const found = readKallsymsAt(cut, Float64Array.of(address));
    assertEquals(found.name(found.lookup(address)), table.name(table.lookup(address)), `${size}`);
  }
});
