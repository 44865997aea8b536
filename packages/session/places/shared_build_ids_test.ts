import { assertEquals, assertMatch } from "@std/assert";
import { sharedBuildIdTexts } from "./shared_build_ids.ts";

const of = (buildId: string | undefined, ...paths: string[]) =>
  paths.map((path) => ({ path, buildId }));

Deno.test("shared build id: three modules are counted, two of them named", () => {
  const [text = "", ...others] = sharedBuildIdTexts([
    ...of("12ab", "/lib/ext4.ko", "/lib/xfs.ko.xz", "/lib/kvm.ko"),
    ...of("34cd", "/lib/snd.ko"),
  ]);
  assertMatch(
    text,
    /^3 modules of the kernel have the build id 12ab, \/lib\/ext4\.ko and \/lib\/xfs\.ko\.xz/,
  );
  assertEquals(others, []);
});

Deno.test("shared build id: programs, one module of two machines and modules without a build id are usual", () => {
  assertEquals(sharedBuildIdTexts(of("12ab", "/bin/vi", "/bin/vim")), []);
  assertEquals(sharedBuildIdTexts(of("12ab", "/lib/ext4.ko", "/guest/lib/ext4.ko.zst")), []);
  assertEquals(sharedBuildIdTexts(of(undefined, "/lib/ext4.ko", "/lib/xfs.ko")), []);
});
