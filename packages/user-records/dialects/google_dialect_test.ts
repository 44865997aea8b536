import { GOOGLE_RECORDS } from "./google_dialect.ts";
import { check, layout } from "../hand_testing.ts";

const byType = new Map(GOOGLE_RECORDS.map((declared) => [declared.type as number, declared]));
function declaration(type: number): typeof GOOGLE_RECORDS[number] {
  const found = byType.get(type);
  if (found === undefined) throw new Error(`type ${type} is not declared`);
  return found;
}

Deno.test("GOOGLE_RECORDS: records decode to features", () => {
  check(declaration(69), layout().u32(64).text("host", 64), { body: "host" });
  check(declaration(70), layout().u32(64).text("3.2.5", 64), { body: "3.2.5" });
  check(declaration(72), layout().u32(64).text("x86_64", 64), { body: "x86_64" });
  check(declaration(73), layout().u32(32, 31), {
    body: { nr_cpus_avail: 32, nr_cpus_online: 31 },
  });
  check(declaration(76), layout().u64(65904800), { body: 65904800n });
  check(declaration(77), layout().u32(2).u32(64).text("perf", 64).u32(64).text("record", 64), {
    body: { argv: ["perf", "record"] },
  });
  check(declaration(81), layout().u32(1).u32(4).u32(64).text("cpu", 64), {
    body: { pmus: [{ type: 4, name: "cpu" }] },
  });
});
