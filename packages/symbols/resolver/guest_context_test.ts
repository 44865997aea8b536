import { assertEquals } from "@std/assert";
import type { ResolverOptions } from "./options.ts";
import type { SymbolObject } from "./resolution.ts";
import { SymbolResolver } from "./symbol_resolver.ts";

const FILES: Readonly<Record<string, string>> = {
  "/proc/kallsyms": "ffffffff81000000 T _text\nffffffff81001000 T host_here\n",
  "/proc/sys/kernel/osrelease": "6.1.0",
  "/copy":
    "ffffffff81000000 T _text\nffffffff81001000 T of_copy\nffffffffc0000000 t of_module\t[m]\n",
  "/mnt/500/proc/kallsyms": "ffffffff81000000 T _text\nffffffff81001000 T of_mount\n",
};

async function nameOf(
  object: Partial<SymbolObject>,
  address: number,
  options: ResolverOptions,
): Promise<string | undefined> {
  const read = (path: string) => {
    const text = FILES[path];
    return text === undefined ? undefined : new TextEncoder().encode(text);
  };
  const resolver = new SymbolResolver({ open: () => undefined, read }, {
    machine: { release: "6.1.0" },
    ...options,
  });
  const symbols = await resolver.open({ path: "[kernel]", kind: "kernel", ...object });
  const [found] = await symbols.find(Float64Array.of(address));
  return found?.symbol?.name ?? found?.cause;
}

const MAPPED = { reference: "_text", referenceAddress: -0x7f00_0000 };

Deno.test("SymbolResolver: a guest's kernel has the names in the guest's files, never the host's", async () => {
  const guest = { ...MAPPED, guest: 500 };
  assertEquals(await nameOf(MAPPED, 0x1010, {}), "host_here");
  assertEquals(await nameOf(guest, 0x1010, {}), "file missing");
  assertEquals(await nameOf(guest, 0x1010, { kallsyms: "/copy" }), "file missing");
  assertEquals(await nameOf(guest, 0x1010, { guestKallsyms: "/copy" }), "of_copy");
  assertEquals(await nameOf(MAPPED, 0x1010, { guestKallsyms: "/copy" }), "host_here");
  assertEquals(await nameOf(guest, 0x1010, { guestMount: "/mnt" }), "of_mount");
  assertEquals(
    await nameOf({ ...guest, guest: 600 }, 0x1010, { guestMount: "/mnt" }),
    "file missing",
  );
});

Deno.test("SymbolResolver: without a mapping of the guest's kernel, its addresses are looked up unchanged, with modules", async () => {
  const options = { guestKallsyms: "/copy" };
  assertEquals(await nameOf({ guest: 500 }, -0x7eff_eff0, options), "of_copy");
  assertEquals(await nameOf({ guest: 500 }, -0x3fff_fff0, options), "of_module");
  // Modules are not in the range of a mapped kernel.
  assertEquals(await nameOf({ ...MAPPED, guest: 500 }, 0x3f00_0010, options), "no symbols");
});
