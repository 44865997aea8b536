import { assert, assertEquals } from "@std/assert";
import type { ReadCode } from "@perfdata/export/code";
import { viewProfile } from "@perfdata/export/tree";
import { type Profile, ProfileBuilder } from "@perfdata/profile";
import { CodeService, type CodeSource } from "./code_service.ts";
import { codeOfReport, reportCode, reportProfile } from "./report_code.ts";

/** A profile of functions that call each other, some inlined; each sample has a time. */
function callsProfile(): Profile {
  const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
  const object = builder.object({ path: "/usr/bin/app", name: "app" });
  const thread = builder.thread(7, 7, "app");
  // 150 functions, so that some are not among those with most samples.
  const place = (fn: number, line: number) => {
    const own = { name: `f${fn}`, file: `${fn % 3}.c`, line: 10 * fn + line };
    const inlined = { name: `in${fn % 5}`, file: "in.h", line, kind: 4 };
    const frames = fn % 4 === 0 ? [inlined, own] : [own];
    return builder.place(object, 100 * fn + line, frames);
  };
  let time = 0;
  for (let i = 0; i < 2000; i++) {
    let stack = -1;
    // Squares prefer small numbers, which are the hot functions; calls may be recursive.
    for (let depth = 0; depth <= i % 6; depth++) {
      const fn = Math.floor(150 * ((i * (depth + 7) % 101) / 101) ** 2);
      stack = builder.stack(stack, place(fn, (i + depth) % 7));
    }
    builder.sample({ stack, event: 0, thread, period: 1 + i % 5, time: time += 1000 });
  }
  return builder.profile();
}

/** Instructions of ten bytes at each hundred, and the text of all files. */
const SOURCE: CodeSource = {
  pieces(_, counts) {
    const start = Math.floor(Math.min(...counts.totals.keys()) / 100) * 100;
    const sumOf = (of: typeof counts.totals, at: number) => {
      const { samples = 0, period = 0 } = of.get(at) ?? {};
      return { samples, period };
    };
    const insns: ReadCode["insns"] = Array.from({ length: 10 }, (_, at) => ({
      address: BigInt(start + at + 0x400000),
      bytes: Uint8Array.of(at),
      text: `insn ${at}`,
      self: sumOf(counts.addresses, start + at),
      total: sumOf(counts.totals, start + at),
      frames: [{ name: counts.name, file: "0.c", line: at }],
      jump: at === 9 ? 0 : undefined,
    }));
    const about = { counts, path: "/usr/bin/app", object: "app", missing: undefined };
    const { self, total } = counts;
    return Promise.resolve([{ ...about, self, total, start, insns }]);
  },
  source:
    () => [{ first: 1, text: Array.from({ length: 700 }, (_, i) => `line ${i + 1}`).join("\n") }],
};

Deno.test("reportCode: functions in the report have the counts of the whole profile, for any selection", async () => {
  const profile = callsProfile();
  const view = viewProfile(profile);
  const whole = new CodeService(profile, view, SOURCE);
  const code = await reportCode(whole);
  const report = new CodeService(reportProfile(view, code), view, codeOfReport(code));
  const all = profile.functions.name.length;
  assert(code.known.length >= 40 && code.known.length < all, `${code.known.length} of ${all}`);
  assert(code.profile.stacks.place.length < profile.stacks.place.length);
  let compared = 0;
  for (const fn of code.known) {
    for (const selection of [{ event: 0 }, { event: 0, from: 300_000, to: 900_000 }]) {
      const [wanted, found] = await Promise.all([
        whole.code(fn, selection),
        report.code(fn, selection),
      ]);
      assertEquals(found.files.map(({ file, lines }) => ({ file, lines })), [
        ...wanted.files.map(({ file, lines }) => ({ file, lines })),
      ]);
      assertEquals([found.self, found.total, found.whole], [
        wanted.self,
        wanted.total,
        wanted.whole,
      ]);
      assertEquals(found.pieces, wanted.pieces);
      compared += found.pieces.length;
    }
  }
  assert(compared > 50, `${compared} pieces`);
});

Deno.test("reportCode: source has the lines with code and two around them", async () => {
  const profile = callsProfile();
  const code = await reportCode(new CodeService(profile, viewProfile(profile), SOURCE));
  const lines = code.files.find(({ path }) => path === "in.h")?.parts
    .flatMap(({ first, text }) => text.split("\n").map((line, i) => [first + i, line]));
  // Lines 0 to 6, of which 0 is unknown.
  assertEquals(lines, Array.from({ length: 8 }, (_, i) => [i + 1, `line ${i + 1}`]));
});
