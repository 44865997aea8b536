import { assertEquals } from "@std/assert";
import { TrustCounter } from "./trust_report.ts";

Deno.test("counts by cause and by file, and of several workers together", () => {
  const first = new TrustCounter();
  first.resolved();
  first.resolved(9);
  first.unresolved("file missing", "/opt/a", 3);
  first.unresolved("JIT", "//anon");
  const second = new TrustCounter();
  second.unresolved("file missing", "/opt/a", 2);
  second.unresolved("file missing", "/opt/b", 4);
  second.unresolved("unmapped", "");
  first.add(second.report());
  assertEquals(first.report(), {
    addresses: 21,
    resolved: 10,
    unresolved: {
      "file missing": 9,
      "build id differs": 0,
      "no symbols": 0,
      "kallsyms restricted": 0,
      "JIT": 1,
      "unmapped": 1,
    },
    files: [
      { file: "/opt/a", cause: "file missing", addresses: 5 },
      { file: "/opt/b", cause: "file missing", addresses: 4 },
      { file: "", cause: "unmapped", addresses: 1 },
      { file: "//anon", cause: "JIT", addresses: 1 },
    ],
  });
});
