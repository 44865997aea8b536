import { assert, assertEquals } from "@std/assert";
import { openCfi } from "../testing/readelf_rows.ts";
import { framesInterp } from "../testing/frames_interp.ts";
import type { FrameRules } from "./frame_rules.ts";
import { FrameSectionWriter } from "./frame_writer.ts";
import { ObjectCfi } from "./object_cfi.ts";
import { RowTable } from "./row_table.ts";
import { ignored, notInstalled, skipped } from "../../../tests/support/ignored.ts";

/** The rules as text; expressions as bytes. */
function textOf(cfi: ObjectCfi, address: number): string {
  const source = cfi.source(address);
  const rules = source?.rules(address) as FrameRules;
  const table = source?.expressions;
  const value = (rule: number, value: number): string =>
    rule < 6
      ? `${rule}:${value}`
      : `${rule}:${table?.bytes.subarray(table.start[value], table.end[value])}`;
  const cfa = rules.cfaRegister === -1 ? value(6, rules.cfaOffset) : `${rules.cfaOffset}`;
  const registers = Array.from(rules.rule, (rule, i) => value(rule, rules.value[i] ?? 0));
  return [rules.cfaRegister, cfa, rules.returnAddress, rules.signal, ...registers].join(" ");
}

Deno.test({
  name: "FrameSectionWriter: rules of libc and of a program are read back unchanged",
  ...ignored(notInstalled("readelf")),
  fn: async (t) => {
    let compared = 0, smaller = 0;
    for (const path of ["/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6"]) {
      try {
        Deno.statSync(path);
      } catch {
        await skipped(t, `${path}: it is not here`);
        continue;
      }
      const { cfi, rows } = openCfi(path);
      const addresses = framesInterp(path).flatMap(({ section, rows }) =>
        section === ".eh_frame" ? rows.map(({ low }) => low) : []
      ).filter((low, i) => low > 0 && i % 3 === 0);
      const writer = new FrameSectionWriter();
      for (const address of addresses) {
        const source = cfi.source(address);
        const rules = source?.rules(address);
        assert(source !== undefined && rules !== undefined);
        writer.add(address, rules, source.expressions);
      }
      const bytes = writer.finish();
      const again = new RowTable(rows.machine);
      const section = { name: ".eh_frame", bytes, address: 0, littleEndian: true } as const;
      const written = ObjectCfi.ofSections(section, undefined, again);
      for (const address of addresses) {
        assertEquals(textOf(written, address), textOf(cfi, address));
        compared++;
      }
      assertEquals(written.damage, []);
      if (again.count <= addresses.length) smaller++;
    }
    console.log(`${compared} addresses`);
    assert(compared === 0 || compared > 5000 && smaller > 0);
  },
});
