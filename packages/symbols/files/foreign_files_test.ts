import { assertEquals } from "@std/assert";
import { localResolver } from "../resolver/local_resolver.ts";

Deno.test({
  name: "localResolver: another user's perf map is refused, root's and one's own are read",
  // Only root can change a file's owner.
  ignore: Deno.build.os !== "linux" || Deno.uid() !== 0,
  async fn() {
    const path = Deno.makeTempFileSync({ prefix: "perf-", suffix: ".map" });
    try {
      Deno.writeTextFileSync(path, "1000 40 compiled\n");
      const name = async () => {
        const symbols = await localResolver().open({ path, kind: "jit" });
        const [found] = await symbols.find(Float64Array.of(0x1010));
        const reasons = symbols.refused.map(({ reason }) => reason);
        symbols.close();
        return [found?.frames[0]?.name ?? found?.cause, ...reasons];
      };
      assertEquals(await name(), ["compiled"]);
      Deno.chownSync(path, 4242, 4242);
      assertEquals(await name(), ["JIT", "of another user"]);
    } finally {
      Deno.removeSync(path);
    }
  },
});
