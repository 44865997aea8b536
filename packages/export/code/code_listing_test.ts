import { assertEquals } from "@std/assert";
import { codeListing, type ListedFrame, type ListedInsn } from "./code_listing.ts";

const NONE = { samples: 0, period: 0 };

function frame(name: string, line: number, file: string | undefined = "a.c"): ListedFrame {
  return { name, file, line };
}

function insn(frames: readonly ListedFrame[], period = 0, jump?: number): ListedInsn {
  const count = period === 0 ? NONE : { samples: 1, period };
  return { self: count, total: count, frames, jump };
}

/**
 * Rows as text: `name:line@depth` for source, with `+` at the begin of an inlined function; numbers
 * of instructions; `...` for gaps.
 */
function rows(insns: readonly ListedInsn[], context?: number): string[] {
  return codeListing(insns, context).rows.map((row) =>
    row.kind === "insn"
      ? String(row.number)
      : row.kind === "gap"
      ? `...${row.count}`
      : `${row.begins ? "+" : ""}${row.frame.name}:${row.frame.line}@${row.depth}`
  );
}

Deno.test("codeListing: a source line precedes its instructions once, and again after another line", () => {
  const [one, two] = [[frame("f", 1)], [frame("f", 2)]];
  assertEquals(rows([insn(one), insn(one), insn(two), insn(one)]), [
    ...["f:1@0", "0", "1", "f:2@0", "2", "f:1@0", "3"],
  ]);
});

Deno.test("codeListing: an inlined function begins once, and continues with its next line", () => {
  const f = frame("f", 1);
  assertEquals(
    rows([
      insn([f, frame("g", 5)]),
      insn([f, frame("g", 6)]),
      insn([f, frame("h", 6)]),
      insn([f]),
      insn([frame("f", 2), frame("h", 6)]),
    ]),
    ["f:1@0", "+g:5@1", "0", "g:6@1", "1", "+h:6@1", "2", "3", "f:2@0", "+h:6@1", "4"],
  );
});

Deno.test("codeListing: another file or name is another source; a frame without a line has no row", () => {
  assertEquals(rows([insn([frame("f", 1)]), insn([frame("f", 1, "b.h")])]), [
    ...["f:1@0", "0", "f:1@0", "1"],
  ]);
  assertEquals(rows([insn([{ name: "f", file: undefined, line: 4 }]), insn([frame("f", 0)])]), [
    "0",
    "1",
  ]);
  // An inlined function without a line still has a row.
  assertEquals(rows([insn([frame("f", 1), { name: "g", file: undefined, line: 0 }])]), [
    ...["f:1@0", "+g:0@1", "0"],
  ]);
});

Deno.test("codeListing: an instruction without frames adds no row", () => {
  assertEquals(rows([insn([frame("f", 1)]), insn([]), insn([frame("f", 1)])]), [
    ...["f:1@0", "0", "1", "2"],
  ]);
});

Deno.test("codeListing: with a context, instructions far from samples are gaps, and source is repeated after a gap", () => {
  const f = [frame("f", 1)];
  const insns = Array.from({ length: 12 }, (_, i) => insn(f, i === 3 || i === 10 ? 5 : 0));
  assertEquals(rows(insns, 1), [
    ...["...2", "f:1@0", "2", "3", "4", "...4", "f:1@0", "9", "10", "11"],
  ]);
  assertEquals(rows(insns, 0), ["...3", "f:1@0", "3", "...6", "f:1@0", "10", "...1"]);
  // Without any sample, all instructions are shown.
  assertEquals(rows([insn(f), insn(f)], 0), ["f:1@0", "0", "1"]);
});

Deno.test("codeListing: the hottest row is the first one with the largest period", () => {
  const f = [frame("f", 1)];
  const { rows: all, hottest } = codeListing([insn(f, 4), insn(f, 9), insn(f, 9), insn(f, 1)]);
  assertEquals(all[hottest], { kind: "insn", number: 1 });
  assertEquals(codeListing([insn(f), insn(f)]).hottest, 0);
});

Deno.test("codeListing: a jump is drawn from its row to its target's row, unless that is skipped", () => {
  const f = [frame("f", 1)];
  const { gutters, rows: all, undrawn } = codeListing([insn(f, 0, 2), insn(f), insn(f), insn(f)]);
  assertEquals([all.length, gutters.length, undrawn], [5, 5, 0]);
  assertEquals(gutters.map((gutter) => gutter.trim() !== ""), [false, true, true, true, false]);
  assertEquals(gutters[3]?.trimEnd().endsWith(">"), true);
  const far = Array.from(
    { length: 9 },
    (_, i) => insn(f, i === 0 ? 5 : 0, i === 0 ? 8 : undefined),
  );
  assertEquals(codeListing(far, 1).gutters.map((gutter) => gutter.trim()).join(""), "");
});
