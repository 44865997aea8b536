import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  HOSTILE_NAMES,
  namesOf,
  plainSamples,
  profileOf,
  renamedSamples,
} from "../../packages/export/testing.ts";
import { ViewEngine } from "../data/view_engine.ts";
import { viewProfile } from "@perfdata/export/tree";
import { FUNCTION_TRANSFORMS } from "../ui/function_transforms.ts";
import { Browser, type BrowserHost } from "./browser.ts";
import { KeyReader } from "./keys.ts";
import { cells } from "./lines.ts";
import { runBrowser } from "./terminal.ts";
import { FakeTerminal } from "./testing.ts";

const SAMPLES = plainSamples(4000, 11);
const FIRST = Math.min(...SAMPLES.map(({ time }) => time));
const ENGINE = new ViewEngine(viewProfile(profileOf(SAMPLES)));

/** Texts sent to commands. */
const sent: [string, string][] = [];
/** Texts written to files, and the number of suspensions. */
const saved: string[] = [];
let suspensions = 0;
const HOST: BrowserHost = {
  annotate: (fn, { event, tids }) =>
    Promise.resolve({
      title: `code of ${fn}, event ${event}, threads ${tids}`,
      lines: Array.from({ length: 100 }, (_, i) => [{ text: `line ${i}` }]),
      hot: 70,
    }),
  send(command, text) {
    sent.push([command, text]);
    return Promise.resolve("");
  },
  save(text) {
    saved.push(text);
    return `written: perf.hist.${saved.length - 1}`;
  },
  suspend() {
    suspensions++;
    return Promise.resolve("");
  },
  parseTime(text) {
    const found = /^(\d+)-(\d*)$/.exec(text);
    if (found === null) return Promise.reject(new Error(`${text} is no time`));
    return Promise.resolve([Number(found[1]), found[2] === "" ? undefined : Number(found[2])]);
  },
};

const browser = () => new Browser(ENGINE, HOST, { event: 0 });

async function press(to: Browser, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await to.key(key);
}

/** Returns the keys that type a text. */
const typed = (text: string) => [...text];

interface TextRow {
  readonly depth: number;
  readonly total: number;
  readonly self: number;
  readonly name: string;
}

/** Returns the rows of the view as sent to a command, split into columns. */
function rowsOf(of: Browser): TextRow[] {
  return of.text().trimEnd().split("\n").slice(2).map((line) => {
    const found = /^( *)[▸▾ ] (.*?)(?: +(?:demo|\[kernel.kallsyms\]))?$/.exec(line.slice(28));
    assert(found !== null, line);
    return {
      depth: (found[1] as string).length / 2,
      total: parseFloat(line.slice(0, 8)),
      self: parseFloat(line.slice(8, 16)) || 0,
      name: found[2] as string,
    };
  });
}

type Fits = (sample: typeof SAMPLES[number]) => boolean;

/** Counts samples one by one; returns shares of functions, except those with hostile or inlined names. */
function counted(fits: Fits, weight: "period" | "samples", event = 0): Map<string, number[]> {
  const sums = new Map<string, number[]>();
  let all = 0;
  for (const sample of SAMPLES.filter((sample) => sample.event === event && fits(sample))) {
    const value = weight === "period" ? sample.period : 1;
    all += value;
    const stack = sample.stack;
    for (const name of new Set(stack)) {
      const sum = sums.get(name) ?? [0, 0];
      sum[0] = (sum[0] as number) + value;
      if (stack.at(-1) === name) sum[1] = (sum[1] as number) + value;
      sums.set(name, sum);
    }
  }
  for (const sum of sums.values()) sum.forEach((value, i) => sum[i] = 100 * value / all);
  return sums;
}

/** Keys that narrow the selection, and the test of the remaining samples. */
const NARROWED:
  readonly (readonly [string, readonly string[], Fits, "period" | "samples", number?])[] = [
    ["nothing", [], () => true, "period"],
    ["samples", ["w"], () => true, "samples"],
    ["a thread", ["t", "j", "enter"], () => true, "period"],
    [
      "a time",
      ["r", ...typed("1000000-2000000000"), "enter"],
      ({ time }) => time - FIRST >= 1000000 && time - FIRST < 2000000000,
      "period",
    ],
    ["the other event", ["v", "j", "enter"], () => true, "samples", 1],
    ["undone", ["w", "u"], () => true, "period"],
    ["done again", ["w", "u", "U"], () => true, "samples"],
  ];

Deno.test("Browser: after each narrowing key, rows have the shares of the remaining samples", async () => {
  let compared = 0;
  for (const [what, keys, fits, weight, event = 0] of NARROWED) {
    const own = browser();
    await press(own, ...keys);
    let narrowed = fits;
    if (what === "a thread") {
      const [tid] = own.state.tids ?? [];
      assert(tid !== undefined);
      narrowed = ({ thread }) => thread[2] === tid;
    }
    const wanted = counted(narrowed, own.state.weight, event);
    if (event === 0) assertEquals(own.state.weight, weight, what);
    const rows = rowsOf(own);
    for (const { total, self, name } of rows) {
      // A function that is both called and inlined has two rows.
      if (!/^(f\d+|main)$/.test(name)) continue;
      const [all = 0, in_ = 0] = wanted.get(name) ?? [];
      assert(Math.abs(total - all) < 0.0051, `${what}: ${name} ${total}% of ${all}`);
      assert(Math.abs(self - in_) < 0.0051, `${what}: ${name} self ${self}% of ${in_}`);
      compared++;
    }
    const totals = rows.map(({ total }) => total);
    assertEquals(totals, totals.toSorted((a, b) => b - a), "sorted");
  }
  assert(compared > 200, `${compared} rows`);
});

Deno.test("Browser: d narrows to the object of the row, and back", async () => {
  const own = browser();
  const before = own.text();
  await press(own, "s", "s", "d");
  const [object] = own.state.objects ?? [];
  assert(object !== undefined);
  const inObject = (sample: typeof SAMPLES[number]): boolean => {
    // An inlined function is in the object of the enclosing function.
    const at = sample.stack.findLastIndex((name) => !name.startsWith("~"));
    const name = sample.stack[at];
    return name !== undefined && ENGINE.profile.objects[object]?.name ===
        (name.length % 3 === 0 ? "[kernel.kallsyms]" : "demo");
  };
  const samples = SAMPLES.filter((sample) => sample.event === 0 && inObject(sample)).length;
  assert(samples > 100 && samples < 2900);
  assertStringIncludes(own.text(), `${samples.toLocaleString("en-US")} samples`);
  await press(own, "d");
  assertEquals(own.text(), before);
});

Deno.test("Browser: + expands callers or callees with their shares, and collapses them", async () => {
  let compared = 0;
  for (const keys of [[], ["c"], ["s"], ["tab"], ["tab", "c"]]) {
    const own = browser();
    await press(own, "i", ...keys);
    const before = rowsOf(own);
    for (const [at, row] of before.slice(0, 12).entries()) {
      await press(own, "home", ...Array(at).fill("j"), "+");
      const below = rowsOf(own).slice(at + 1, rowsOf(own).length - (before.length - at - 1));
      assert(below.every(({ depth }) => depth > row.depth), row.name);
      const sum = below.filter(({ depth }) => depth === row.depth + 1)
        .reduce((sum, { total }) => sum + total, 0);
      if (below.length > 0 && !own.state.callers) {
        assert(sum <= row.total + 0.1, `${row.name}: ${sum} of ${row.total}`);
        if (own.state.view === "tree") {
          assert(Math.abs(sum + row.self - row.total) < 0.1, `${row.name}`);
        }
        compared++;
      }
      await press(own, "+");
      assertEquals(rowsOf(own), before);
    }
  }
  assert(compared > 10, `${compared}`);
});

Deno.test("Browser: callers of a function equal those of the samples", async () => {
  const own = browser();
  // Sorted by self, so that callers are those of the samples in the function.
  await press(own, "i", "s", "/", ...typed("/^f2"), "enter", "+");
  const [row, ...after] = rowsOf(own);
  assert(row !== undefined);
  const callers = new Map<string, number>();
  let all = 0;
  for (const { event, stack, period } of SAMPLES) {
    if (event !== 0) continue;
    all += period;
    const plain = stack.filter((name) => !name.startsWith("~"));
    if (plain.at(-1) !== row.name) continue;
    const caller = plain.at(-2) ?? "";
    callers.set(caller, (callers.get(caller) ?? 0) + period);
  }
  const end = after.findIndex(({ depth }) => depth === 0);
  const found = after.slice(0, end).filter(({ depth }) => depth === 1);
  assertEquals(found.length, callers.size);
  assert(found.length > 10);
  for (const { name, total } of found) {
    if (!/^(f\d+|main)$/.test(name)) continue;
    assert(Math.abs(total - 100 * (callers.get(name) ?? 0) / all) < 0.0051, name);
  }
});

Deno.test("Browser: a search filters rows while it is typed; Escape reverts it", async () => {
  const own = browser();
  const before = rowsOf(own);
  await press(own, "/", ...typed("F1"));
  const found = rowsOf(own);
  assertEquals(
    found.map(({ name }) => name),
    before.map(({ name }) => name).filter((name) => name.includes("f1")),
  );
  assert(found.length > 5 && found.length < before.length);
  await press(own, "backspace", "backspace", ...typed("/("));
  assertStringIncludes(own.screen().flat().map(({ text }) => text).join("\n"), "expression");
  await press(own, "escape");
  assertEquals(rowsOf(own), before);
  await press(own, "tab", "/", ...typed("nothing of this"), "enter", "n");
  assertStringIncludes(own.screen().at(-2)?.[0]?.text ?? "", "no row here has");
});

Deno.test("Browser: the key a shows the code of the function, beginning at its hottest line", async () => {
  const own = browser();
  await press(own, "t", "j", "enter", "a");
  const [tid] = own.state.tids ?? [];
  const text = () => own.screen().map((line) => line.map(({ text }) => text).join(""));
  assertMatch(text()[1] ?? "", new RegExp(`^code of \\d+, event 0, threads ${tid}$`));
  assert(text().includes("line 70"));
  await press(own, "home");
  assertEquals(text()[2], "line 0");
  await press(own, "H");
  assert(text().includes("line 70"));
  await press(own, "q");
  assertMatch(text()[1] ?? "", /TOTAL.*FUNCTION/);
});

Deno.test("Screen: a slow action is shown while it runs", async () => {
  const terminal = new FakeTerminal(80, 24);
  const own = new Browser(ENGINE, {
    ...HOST,
    async annotate(fn, shown) {
      while (!terminal.written.includes("reading the code")) {
        await new Promise((done) => setTimeout(done, 10));
      }
      return await HOST.annotate(fn, shown);
    },
  }, { event: 0 });
  const screens: string[][] = [];
  terminal.looked = (screen) => void screens.push(screen);
  terminal.type("a", "q", "q");
  await runBrowser(own, terminal);
  assertEquals(screens.length, 3);
  assertMatch(screens[1]?.[1] ?? "", /^code of \d+/);
  for (const screen of screens) assert(!screen.join("\n").includes("reading the code"));
});

Deno.test("Browser: renamed threads and processes have the name of most of their samples", async () => {
  const engine = new ViewEngine(viewProfile(profileOf(renamedSamples())));
  for (
    const [key, choices, title] of [
      ["t", ["40 cc1plus", "51 worker-5 (of 50)"], "thread 51 worker-5"],
      ["p", ["40 cc1plus", "50 app"], "process 50 app"],
    ] as const
  ) {
    const own = new Browser(engine, HOST, { event: 0 });
    own.size = { columns: 80, rows: 24 };
    const text = () => own.screen().map((line) => line.map(({ text }) => text).join("")).join("\n");
    await press(own, key);
    for (const choice of choices) assertStringIncludes(text(), choice);
    await press(own, "j", "j", "enter");
    assertStringIncludes(text(), title);
  }
});

/** The stack of a sample after a transform of a function; `undefined` if the sample is dropped. */
const TRANSFORMED: Readonly<
  Record<string, (stack: readonly string[], name: string) => readonly string[] | undefined>
> = {
  f: (stack, name) => stack.includes(name) ? stack.slice(stack.indexOf(name)) : undefined,
  F: (stack, name) => stack.includes(name) ? stack.slice(0, stack.indexOf(name) + 1) : undefined,
  m: (stack, name) => stack.filter((own) => own !== name),
  D: (stack, name) => stack.includes(name) ? undefined : stack,
  x: (stack, name) =>
    stack.includes(name)
      ? [...stack.slice(0, stack.indexOf(name)), ...stack.slice(stack.lastIndexOf(name))]
      : stack,
};

Deno.test("Browser: keys and the menu transform stacks like the same transform of each sample, and u undoes", async () => {
  let compared = 0;
  for (const [key, plain] of Object.entries(TRANSFORMED)) {
    for (const isMenu of [false, true]) {
      const own = browser();
      // Without inlined functions, so that each sample's stack has one name for a function.
      await press(own, "i", "/", ...typed("/^f20$/"), "enter");
      const before = own.text();
      await press(own, ...isMenu ? ["enter", key] : [key]);
      const message = own.screen().at(-2)?.[0]?.text ?? "";
      const title = own.screen()[0]?.[0]?.text ?? "";
      assertMatch(title, / · (focus|callers|merge|drop|recursion) f20 /);
      await press(own, "escape");
      const sums = new Map<string, [total: number, self: number]>();
      let [all, left] = [0, 0];
      for (const { event, stack, period } of SAMPLES) {
        if (event !== 0) continue;
        all += period;
        const found = plain(stack.filter((name) => !name.startsWith("~")), "f20");
        if (found === undefined) continue;
        left += period;
        for (const name of new Set(found)) {
          const sum = sums.get(name) ?? [0, 0];
          sums.set(name, [sum[0] + period, sum[1] + (found.at(-1) === name ? period : 0)]);
        }
      }
      const share = (100 * (all - left) / all).toFixed(2);
      if (left < all) assertStringIncludes(message, `${share}% of the weight is dropped`);
      assert(left < all === /[fFD]/.test(key));
      for (const { name, total, self } of rowsOf(own)) {
        if (!/^(f\d+|main)$/.test(name)) continue;
        const [wanted = 0, inIt = 0] = sums.get(name) ?? [];
        assert(Math.abs(total - 100 * wanted / left) < 0.0051, `${key}: ${name} ${total}%`);
        assert(Math.abs(self - 100 * inIt / left) < 0.0051, `${key}: ${name} self ${self}%`);
        compared++;
      }
      await press(own, "u", "u");
      assertEquals(own.text(), before);
    }
  }
  assert(compared > 100, `${compared}`);
});

Deno.test("Browser: the key Enter opens a menu; its entries have the words of the browser page, and a key each", async () => {
  const own = browser();
  const text = () => own.screen().map((line) => line.map(({ text }) => text).join("").trimEnd());
  own.size = { columns: 80, rows: 40 };
  await press(own, "enter");
  const menu = text();
  assertEquals(menu[1], "main");
  for (const { text } of FUNCTION_TRANSFORMS) {
    assert(menu.some((line) => line.endsWith(`   ${text}`)), text);
  }
  assert(menu.includes("  a   Annotate"));
  assert(menu.includes("  d   Zoom into object demo"));
  await press(own, "j", "enter");
  assertEquals(rowsOf(own).some(({ depth }) => depth > 0), false, "main has no callers");
  await press(own, "j", "enter", "+");
  const expanded = rowsOf(own);
  assert(expanded.some(({ depth }) => depth > 0));
  await press(own, "enter", "q");
  assertEquals(rowsOf(own), expanded);
  await press(own, "enter", "enter");
  assert(rowsOf(own).length < expanded.length, "the first entry collapses");
  await press(own, "enter", "a");
  assertMatch(text()[1] ?? "", /^code of \d+/);
});

Deno.test("Browser: E expands rows of at least the limit, e one row, C collapses; L leaves out small rows", async () => {
  const own = browser();
  await press(own, "tab", "c");
  const before = rowsOf(own);
  await press(own, "E");
  const all = rowsOf(own);
  assert(all.length > before.length + 20);
  // What has a caller of at least 0.5 % is there, and nothing else.
  const isExpanded = (at: number) => (all[at + 1]?.depth ?? 0) > (all[at]?.depth ?? 0);
  for (const [at, { total, self }] of all.entries()) {
    if (total < 0.49) assertEquals(isExpanded(at), false);
    else if (total > 0.51 && total - self > 0.02) assertEquals(isExpanded(at), true);
  }
  await press(own, "C");
  assertEquals(rowsOf(own), before);
  await press(own, "e");
  const end = all.findIndex(({ depth }, at) => at > 0 && depth === 0);
  assertEquals(
    rowsOf(own).slice(0, end < 0 ? undefined : end),
    all.slice(0, end < 0 ? undefined : end),
  );
  await press(own, "e");
  assertEquals(rowsOf(own), before);
  const functions = browser();
  const rows = rowsOf(functions);
  await press(functions, "L", "5", "enter");
  assertEquals(rowsOf(functions), rows.filter(({ total }) => total >= 5));
  assertStringIncludes(functions.text(), "≥ 5%");
  await press(functions, "L", "ctrl-u", "x", "enter");
  const shown = functions.screen().flat().map(({ text }) => text).join("\n");
  assertStringIncludes(shown, "x is not a percentage");
  await press(functions, "backspace", "0", "enter");
  assertEquals(rowsOf(functions), rows);
});

Deno.test("Browser: P writes the view, V switches to full names, Ctrl-Z suspends, Escape zooms out", async () => {
  const own = browser();
  await press(own, "P");
  assertEquals(saved.at(-1), own.text());
  assertMatch(own.screen().at(-2)?.[0]?.text ?? "", /^written: perf\.hist\.\d+$/);
  const before = suspensions;
  await press(own, "ctrl-z");
  assertEquals(suspensions, before + 1);
  own.size = { columns: 40, rows: 40 };
  const names = () => own.screen().slice(2).map((line) => line[3]?.text ?? "").join("\n");
  const short = names();
  await press(own, "V");
  assert(names() !== short && !names().includes("…"));
  await press(own, "V");
  assertEquals(names(), short);
  const { state } = own;
  await press(own, "d", "t", "j", "enter");
  assert(own.state.objects !== undefined && own.state.tids !== undefined);
  await press(own, "escape", "escape", "escape");
  assertEquals(own.state, state);
});

Deno.test("Browser: | sends all rows with full names", async () => {
  const own = browser();
  await press(own, "|", ...typed("less -S"), "enter");
  const [command, text] = sent.at(-1) ?? [];
  assertEquals(command, "less -S");
  assertEquals(text, own.text());
  const rows = (text ?? "").split("\n").length - 3;
  assertEquals(rows, ENGINE.table(own.shown).item.length);
  for (const name of ENGINE.profile.functions.name.filter((name) => /^[ -~]+$/.test(name))) {
    assertStringIncludes(text ?? "", name);
  }
});

Deno.test("Browser: all keys in all views fit all screen sizes, without control characters from names", async () => {
  const keys = [
    ..."jkGgcswiuUtqpqv|dhqa?qnN+-HeECfuFumuDuxuRuouOuKKYYVP ".split(""),
    ...["L", "1", "enter", "enter", "down", "G", "q", "enter", "a", "q", "ctrl-z"],
    ...["enter", "right", "left", "tab", "down", "pagedown", "pageup", "end", "home", "escape"],
    ...["/", "f", "1", "enter", "escape", "r", "x", "enter", "escape", "t", "enter", "a", "G", "q"],
    ...["|", "x", "enter", "ctrl-l", "ctrl-u", "日"],
  ];
  let screens = 0;
  const own = browser();
  for (
    const [columns, rows] of [[80, 24], [1, 1], [10, 4], [40, 10], [200, 60], [79, 3]] as const
  ) {
    const terminal = new FakeTerminal(columns, rows);
    own.isOver = false;
    for (const key of keys) {
      if (key !== "q") await press(own, key);
      own.size = { columns, rows };
      const lines = own.screen();
      assertEquals(lines.length, rows, key);
      screens++;
    }
    terminal.type("j", "\x1b[B", "q");
    // The fake terminal throws on a line that is too long, and on control characters.
    await press(own, "escape", "escape", "escape");
    await runBrowser(own, terminal);
    assertEquals(terminal.isOther, false);
  }
  assert(screens > 300);
  assert(HOSTILE_NAMES.some((name) => name.includes("\n")) && cells("日本") === 4);
});

Deno.test("Screen: only changed lines are written; a resize redraws all", async () => {
  const own = browser();
  const terminal = new FakeTerminal(80, 24);
  const screens: string[][] = [];
  const written: number[] = [];
  terminal.looked = (screen) => {
    screens.push(screen);
    written.push(terminal.written.length);
    if (screens.length === 3) terminal.resize(60, 12);
    if (screens.length === 4) assertEquals(terminal.screen().length, 12);
  };
  terminal.type("j", "\x1b", "x", "j", "q");
  await runBrowser(own, terminal);
  const [first = []] = screens;
  assertEquals(first.length, 24);
  assertMatch(first[0] ?? "", /^ perf record demo · cpu-clock · [\d,]+ samples$/);
  assertMatch(first[1] ?? "", /^ {2}TOTAL▼ {3}SELF +FUNCTION +OBJECT$/);
  assertMatch(first[2] ?? "", /^ +[\d.]+% +[\d.]+% █+[▏▎▍▌▋▊▉]? +▸ main +demo$/);
  assertMatch(first[23] ?? "", /^Enter menu .* q quit$/);
  // A step down changes two rows and the line with details.
  assert((written[1] ?? 0) - (written[0] ?? 0) < 400, `${written}`);
  assertEquals(screens.at(-1)?.length, 12);
  assertEquals(terminal.written.endsWith("\x1b[?1049l"), true);
});

Deno.test("Screen: colors are those of perf, or none without colors", async () => {
  // deno-lint-ignore no-control-regex
  const color = /\x1b\[(?:[0-9;]*;)?(?:3[0-7]|9[0-7])m/;
  for (const mode of ["colors", "attributes"] as const) {
    const terminal = new FakeTerminal(80, 24, mode);
    terminal.type("q");
    await runBrowser(browser(), terminal);
    assertEquals(color.test(terminal.written), mode === "colors", mode);
  }
});

Deno.test("KeyReader: pieces of any size give the same keys; Escape alone is a key after a timeout", () => {
  const bytes = new TextEncoder().encode(
    "a\x1b[A\x1bOB\x1b[5~\x1b[1;5C日\x1b[Z\r\t\x7f\x03é\x1b[99z/",
  );
  const wanted = ["a", "up", "down", "pageup", "right", "日", "shift-tab", "enter", "tab"];
  wanted.push("backspace", "ctrl-c", "é", "/");
  let compared = 0;
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second += 3) {
      const reader = new KeyReader();
      const parts = [bytes.slice(0, first), bytes.slice(first, second), bytes.slice(second)];
      assertEquals(parts.flatMap((part) => reader.take(part)), wanted);
      assertEquals(reader.isWaiting, false);
      compared++;
    }
  }
  assert(compared > 200);
  const reader = new KeyReader();
  assertEquals(reader.take(Uint8Array.of(0x1b)), []);
  assertEquals([reader.isWaiting, reader.flush()], [true, ["escape"]]);
});

Deno.test("namesOf: gives the names of the profile's functions", () => {
  const names = new Set(SAMPLES.flatMap(namesOf));
  for (const name of ENGINE.profile.functions.name) assert(names.has(name), name);
});

/** The engine of the first samples in time. */
function engineOf(share: number): ViewEngine {
  const sorted = SAMPLES.toSorted((a, b) => a.time - b.time);
  return new ViewEngine(viewProfile(profileOf(sorted.slice(0, SAMPLES.length * share))));
}

const GOING = { isOver: false, status: "live" };

Deno.test("Browser: a recording that grows keeps the cursor at its function, and rows open", async () => {
  const grown = new Browser(engineOf(0.25), HOST, { event: 0 });
  grown.grow(undefined, GOING);
  await press(grown, "down", "down", "+");
  const at = grown.text().split("\n").find((line) => line.includes("▾"));
  const before = rowsOf(grown);
  grown.grow(engineOf(1), GOING);
  const after = rowsOf(grown);
  assertEquals(after.some(({ depth }) => depth > 0), true);
  const name = before[2]?.name as string;
  assert(at?.includes(name) && grown.text().split("\n").some((line) => line.includes(`▾ ${name}`)));
  // The cursor is on that row: it closes.
  await press(grown, "+");
  assertEquals(rowsOf(grown).every(({ depth }) => depth === 0), true);
  assertStringIncludes(grown.text().split("\n")[0] ?? "", "· live");
});

Deno.test("Browser: z stops updates until z is pressed again", async () => {
  const grown = new Browser(engineOf(0.25), HOST, { event: 0 });
  grown.grow(undefined, GOING);
  await press(grown, "z");
  const held = rowsOf(grown);
  grown.grow(engineOf(1), GOING);
  assertEquals(rowsOf(grown), held);
  assertStringIncludes(grown.text(), "stopped: z goes on");
  await press(grown, "z");
  assertEquals(rowsOf(grown), rowsOf(browser()));
});

Deno.test("Browser: z without a growing recording gives a message", async () => {
  const still = browser();
  await press(still, "z");
  assertStringIncludes(
    still.screen().map((line) => line.map(({ text }) => text).join("")).join("\n"),
    "is being made",
  );
});

Deno.test("Browser: l shows the last 10 seconds, which move with the end", async () => {
  const second = (count: number) =>
    SAMPLES.map((sample, i) => ({ ...sample, time: Math.floor(i * count * 1e9 / SAMPLES.length) }));
  const engine = (count: number) => new ViewEngine(viewProfile(profileOf(second(count))));
  const grown = new Browser(engine(40), HOST, { event: 0 });
  const shown = (count: number) => {
    const times = second(count).map(({ time }) => time);
    const end = Math.max(...times) - 10e9;
    return second(count).filter(({ time, event }) => event === 0 && time >= end).length;
  };
  const counts = () => Number(/([\d,.  ]+) samples/.exec(grown.text())?.[1]?.replace(/\D/g, ""));
  await press(grown, "l");
  assertEquals(counts(), shown(40));
  grown.grow(engine(100), GOING);
  assertEquals(counts(), shown(100));
  await press(grown, "l", "l");
  assertEquals(counts(), SAMPLES.filter(({ event }) => event === 0).length);
});
