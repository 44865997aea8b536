import { assertEquals, assertThrows } from "@std/assert";
import { BundleError } from "../bundle/bundle.ts";
import { openBundle, openResolver } from "./open_resolver.ts";

Deno.test("openResolver: directories and unreadable files are skipped", async () => {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-resolver-" });
  try {
    await Deno.mkdir(`${folder}/folder`);
    await Deno.symlink(`${folder}/loop`, `${folder}/loop`);
    const cases: [string, string[]][] = [
      [`${folder}/folder`, []],
      [`${folder}/gone/file`, []],
      ["/dev/null", ["not readable"]],
      ["/bin/sh/file", []],
      [`${folder}/loop`, ["not readable"]],
    ];
    for (const [path, refused] of cases) {
      const symbols = await openResolver({ places: {} }).open({ path, kind: "elf" });
      const [found] = await symbols.find(Float64Array.of(0x1000));
      symbols.close();
      assertEquals(found?.cause, refused[0] ?? "file missing", path);
      assertEquals(symbols.refused.map(({ reason }) => reason), refused, path);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name: "openResolver: without full permissions, device files are skipped",
  permissions: { read: true, env: true },
  async fn() {
    for (const path of ["/dev/ashmem/dalvik-jit-code-cache", "/proc/1/exe"]) {
      const symbols = await openResolver({ places: {} }).open({ path, kind: "elf" });
      const [found] = await symbols.find(Float64Array.of(0x1000));
      symbols.close();
      assertEquals(found?.cause, "file missing", path);
    }
  },
});

Deno.test("openBundle: the error of an unreadable bundle has its path", async () => {
  const path = await Deno.makeTempFile({ prefix: "perfdata-bundle-" });
  try {
    assertThrows(() => openBundle(path), BundleError, `${path}: 0: no symbol bundle`);
    assertThrows(() => openBundle(`${path}.gone`), Deno.errors.NotFound);
  } finally {
    await Deno.remove(path);
  }
});
