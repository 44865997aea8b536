import { assert, assertEquals } from "@std/assert";
import { diff, viewProfile } from "@perfdata/export/tree";
import { plainSamples, profileOf } from "../../packages/export/testing.ts";
import { FUNCTION_KIND } from "@perfdata/profile";
import { Comparison } from "./comparison.ts";
import { type Shown, ViewEngine } from "./view_engine.ts";

// The same program; the base has one function less, and other shares.
const OLD = plainSamples(5000, 71, 30);
const NOW = plainSamples(6000, 72, 31).map((sample, i) => ({
  ...sample,
  stack: i % 3 === 0 ? ["main", "grown"] : sample.stack,
}));
const [BASE, PROFILE] = [profileOf(OLD), profileOf(NOW)];
const compared = new Comparison(
  new ViewEngine(viewProfile(BASE)),
  new ViewEngine(viewProfile(PROFILE)),
);
const SHOWN: Shown = { event: 0, weight: "period", inline: true };

Deno.test("Comparison.functions: gives the rows of diff", () => {
  let rows = 0;
  for (const by of ["total", "samples", "time", "period"] as const) {
    for (const children of [false, true]) {
      for (const inline of [false, true]) {
        const wanted = diff([BASE], [PROFILE], { event: "cpu-clock", by, children, inline });
        const found = compared.functions({ ...SHOWN, inline }, { by, children });
        const names = compared.facts().names;
        for (const { fn, name } of found.rows) assertEquals(names[fn] ?? "[no stack]", name);
        const key = ({ name, object }: { name: string; object: string }) => `${name} ${object}`;
        const sorted = <T extends { name: string; object: string }>(of: readonly T[]) =>
          [...of].sort((a, b) => key(a) < key(b) ? -1 : 1);
        assertEquals(
          sorted(found.rows.map(({ fn: _, ...row }) => row)),
          sorted(wanted.rows),
          `${by} ${children} ${inline}`,
        );
        assert(found.rows.some(({ name, note }) => name === "grown" && note === "new"));
        assertEquals([found.before, found.after], [wanted.before, wanted.after]);
        rows += found.rows.length;
      }
    }
  }
  assert(rows > 300, `${rows} rows`);
});

Deno.test("Comparison.functions: a selection is compared with all of the base", () => {
  const of = NOW.filter(({ event, thread }) => event === 0 && thread[2] === 8);
  const { before, after } = compared.functions(
    { ...SHOWN, tids: [8] },
    { by: "total", children: false },
  );
  const base = OLD.filter(({ event }) => event === 0);
  const sum = (samples: typeof OLD) => samples.reduce((all, { period }) => all + period, 0);
  assertEquals([after.samples, after.period], [of.length, sum(of)]);
  assertEquals([before.samples, before.period], [base.length, sum(base)]);
});

/**
 * Returns the functions of a sample, outermost first. An inlined function is in the object of its caller, and differs
 * from the same function not inlined.
 */
function functionsOf(stack: readonly string[]): string[] {
  let object = "";
  const functions = stack.map((name) => {
    if (!name.startsWith("~")) object = name.length % 3 === 0 ? "[kernel.kallsyms]" : "demo";
    return `${name} ${object}`;
  });
  return functions.length === 0 ? ["[no stack]"] : functions;
}

Deno.test("Comparison.flame: boxes have the weight of their stacks in the other recording", () => {
  let boxes = 0;
  for (const width of ["now", "base"] as const) {
    for (const direction of ["down", "up"] as const) {
      const found = compared.flame(SHOWN, { direction, zoom: [], least: 0 }, width);
      /** Periods by path, computed from the samples. */
      const sums = (samples: typeof OLD) => {
        const by = new Map<string, number>();
        for (const { event, stack, period } of samples) {
          if (event !== 0) continue;
          const functions = functionsOf(stack);
          if (direction === "up") functions.reverse();
          for (let end = 1; end <= functions.length; end++) {
            const path = functions.slice(0, end).join("\0");
            by.set(path, (by.get(path) ?? 0) + period);
          }
        }
        return by;
      };
      const [own, other] = width === "now" ? [sums(NOW), sums(OLD)] : [sums(OLD), sums(NOW)];
      const { names, objects } = compared.facts();
      // Lines for both kinds of each function in the path, since a name may be that of an inlined function.
      const lines: string[] = [];
      const paths: string[][] = [];
      for (let box = 0; box < found.length; box++) {
        const fn = found.item[box] as number;
        const up = found.parent[box] as number;
        const label = `${names[fn]} ${objects[fn]}`;
        const here = fn < 0 ? ["[no stack]"] : [label, `~${label}`];
        paths.push(
          (up < 0
            ? here
            : (paths[up] as string[]).flatMap((path) => here.map((name) => `${path}\0${name}`)))
            .filter((path) => own.has(path)),
        );
        const sum = (by: ReadonlyMap<string, number>) =>
          (paths[box] as string[]).map((path) => `${by.get(path) ?? 0}`);
        lines.push(`${found.total[box]} ${found.other[box]}`);
        const wanted = sum(own).map((total, i) => `${total} ${sum(other)[i]}`);
        assert(wanted.includes(lines[box] as string), `${lines[box]}: ${wanted.join(", ")}`);
      }
      assertEquals(found.length, own.size);
      boxes += found.length;
    }
  }
  assert(boxes > 5000, `${boxes} boxes`);
});

Deno.test("Comparison: unverified functions keep their full names and are matched by them", () => {
  const unverified = [BASE, PROFILE].map((profile) => {
    const view = viewProfile(profile);
    const kind = view.functions.kind.map((kind) => kind | FUNCTION_KIND.UNVERIFIED);
    return new ViewEngine({ ...view, functions: { ...view.functions, kind } });
  });
  const query = { by: "samples", children: false } as const;
  const names = ([base, now]: readonly ViewEngine[]) =>
    new Comparison(base as ViewEngine, now as ViewEngine).functions(SHOWN, query).rows
      .map(({ fn, name }) => [fn, name]);
  const verified = [BASE, PROFILE].map((profile) => new ViewEngine(viewProfile(profile)));
  assertEquals(names(unverified), names(verified));
});
