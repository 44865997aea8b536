import { assertEquals } from "@std/assert";
import { backtracks } from "./backtracking.ts";
import plugin from "./backtracking_lint.ts";

Deno.test("backtracking lint: expressions whose loops share a text are found", () => {
  const slow = [
    ...[/\/+$/, /(?<=.)\/+$/, /(?:\w+::)+(?=\w)/g, /\].*$/, /\S*\s*$/, /"(?:[^"\\]|\\.|\\)*"/],
    ...[/(a+)*b/, /(a*)*$/, /^(a|a)*$/, /^(?: (?:[A-Z]{2,}|[KMG]B))*$/, /^(.*)(.*)$/],
    ...[/\s*(\w*)\s*$/, /^(.*?)([A-Za-z_0-9]+)\s*((?:\[[^\]]*\])*)\s*$/, /^([-+ #0]*)(\d+|\*)?d/],
    ...[/(?:(?=.*x).)*/, /(?:a*b)?/g, /(a*)\1b/, /^a*$|a*b/m],
  ];
  for (const { source, flags } of slow) assertEquals(backtracks(source, flags), true, source);
});

Deno.test("backtracking lint: expressions of linear time are not reported", () => {
  const linear = [
    ...[/^\/+/, /(?<!\/)\/+$/, /\d+/, /^(\d+)\.(\d+)$/, /(^|\/)\[vdso\]\/*$/, /=.*/s, /e\+\d+$/],
    ...[/^--([^=]+)=(.*)$/s, /(?<!\w)(?:\w+::)+(?=\w)/g, /\b\d+ms/g, /^(?:[a-z]+,)*$/, /#.*/],
    ...[
      /"(?:[^"\\]|\\.)*"/y,
      /^name: (.*)$/m,
      /^(\S+) ?(.*)$/s,
      /[\p{Cc}]/gu,
      /^(?:[0-9a-f]{2}){0,20}$/,
    ],
  ];
  for (const { source, flags } of linear) assertEquals(backtracks(source, flags), false, source);
});

Deno.test("backtracking lint: literals and run-time expressions of packages, tools and view are checked", () => {
  const found = (file: string, source: string): string[] =>
    Deno.lint.runPlugin(plugin, file, source).map(({ id }) => id);
  const reported = ["perfdata-expressions/backtracking"];
  for (const source of ["path.replace(/x+$/, '');", "new RegExp(text);"]) {
    for (const room of ["packages/format/text", "tools", "view/ui"]) {
      assertEquals(found(`/a/${room}/x.ts`, source), reported, source);
    }
    assertEquals(found("/a/packages/format/x_test.ts", source), [], source);
    assertEquals(found("/a/bench/x.ts", source), [], source);
  }
  assertEquals(found("/a/tools/x.ts", "path.replace(/^x+/, ''); const five = 5;"), []);
});
