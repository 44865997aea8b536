/** Functions of a profile that is small enough for output worked out by hand. */
import { type Profile, ProfileBuilder } from "@perfdata/profile";
import { assertEquals, assertThrows } from "@std/assert";
import type { FunctionOptions } from "./function_options.ts";
import { functionCells, functionCsvColumns, functionText } from "./function_text.ts";
import { FunctionTable } from "./functions.ts";

/**
 * main (10), main, f (20) and main, f, g (30, of thread 8), then main, f of another event (5); g is
 * in libc.
 */
function profile(): Profile {
  const builder = new ProfileBuilder({
    events: [{ name: "cycles", unit: "count" }, { name: "faults", unit: "count" }],
  });
  const demo = builder.object({ name: "demo", path: "/usr/bin/demo" });
  const libc = builder.object({ name: "libc.so", path: "/lib/libc.so" });
  const main = builder.stack(-1, builder.place(demo, 0x10, [{ name: "main" }]));
  const f = builder.stack(main, builder.place(demo, 0x20, [{ name: "f" }]));
  const g = builder.stack(f, builder.place(libc, 0x30, [{ name: "g" }]));
  const [first, second] = [builder.thread(7, 7, "demo"), builder.thread(7, 8, "a,b")];
  builder.sample({ stack: main, event: 0, thread: first, period: 10, time: 1, cpu: 0 });
  builder.sample({ stack: f, event: 0, thread: first, period: 20, time: 2, cpu: 0 });
  builder.sample({ stack: g, event: 0, thread: second, period: 30, count: 2, time: 3, cpu: 3 });
  builder.sample({ stack: f, event: 1, thread: first, period: 5, time: 4, cpu: 0 });
  return builder.profile();
}

function textOf(
  options: FunctionOptions,
  format: "table" | "csv" | "json" = "table",
  width?: number,
): string[] {
  const table = new FunctionTable(profile(), options);
  const about = { format, eventNames: table.eventNames, width };
  return [...functionText(table, about)].join("").trimEnd().split("\n");
}

const HEAD = "cycles: 4 samples, period 60";

Deno.test("functionText: rows of each event, the largest share first, in columns as wide as needed", () => {
  // Shares of 60: 30, 20 and 10.
  assertEquals(textOf({ sort: ["comm", "dso", "sym"] }), [
    HEAD,
    "OVERHEAD  SAMPLES  PERIOD  COMM  DSO      SYM",
    "  50.00%        2      30  a,b   libc.so  [.] g",
    "  33.33%        1      20  demo  demo     [.] f",
    "  16.67%        1      10  demo  demo     [.] main",
    "",
    "faults: 1 samples, period 5",
    "OVERHEAD  SAMPLES  PERIOD  COMM  DSO   SYM",
    " 100.00%        1       5  demo  demo  [.] f",
  ]);
});

Deno.test("functionText: with callees, a caller has their share; one without own samples has 0", () => {
  assertEquals(textOf({ sort: ["dso", "sym"], callees: true }), [
    HEAD,
    "CHILDREN    SELF  SAMPLES  PERIOD  DSO      SYM",
    " 100.00%  16.67%        1      10  demo     [.] main",
    "  83.33%  33.33%        1      20  demo     [.] f",
    "  50.00%  50.00%        2      30  libc.so  [.] g",
    "",
    "faults: 1 samples, period 5",
    "CHILDREN     SELF  SAMPLES  PERIOD  DSO   SYM",
    " 100.00%  100.00%        1       5  demo  [.] f",
    " 100.00%    0.00%        0       0  demo  [.] main",
  ]);
});

Deno.test("functionText: on a terminal, bars are shares of the largest in eighths of a character", () => {
  // 20 of 30 are 53 of 80 eighths: 6 blocks and 5 eighths; 10 of 30 are 27: 3 blocks and 3 eighths.
  assertEquals(textOf({ sort: ["dso", "sym"] }, "table", 70).slice(1, 5), [
    "           OVERHEAD  SAMPLES  PERIOD  DSO      SYM",
    "██████████   50.00%        2      30  libc.so  [.] g",
    "██████▋      33.33%        1      20  demo     [.] f",
    "███▍         16.67%        1      10  demo     [.] main",
  ]);
  // If `[.] main` does not fit beside a bar, there is no bar.
  const widest = "██████████   50.00%        2      30  libc.so  [.] main".length;
  const hasBar = (width: number) =>
    textOf({ sort: ["dso", "sym"] }, "table", width)[2]?.[0] === "█";
  assertEquals([hasBar(widest), hasBar(widest - 1)], [true, false]);
});

Deno.test("orderedRows: a least share keeps rows of that share, a limit the first rows of each event", () => {
  const names = (options: FunctionOptions) =>
    textOf({ sort: ["sym"], ...options }).filter((line) => line.includes("[")).map((line) =>
      line.slice(line.indexOf("]") + 2)
    );
  assertEquals(names({}), ["g", "f", "main", "f"]);
  assertEquals(names({ least: 20 / 60 }), ["g", "f", "f"]);
  assertEquals(names({ least: 0.34 }), ["g", "f"]);
  assertEquals(names({ limit: 2 }), ["g", "f", "f"]);
  assertEquals(names({ limit: 0 }), []);
  assertEquals(names({ events: new Set([1]) }), ["f"]);
  // Both commands have two samples with period 30: names decide, even if only one row is kept.
  const [, , first] = textOf({ sort: ["comm"], limit: 1 });
  assertEquals(first, "  50.00%        2      30  a,b");
});

Deno.test("functionCells: CSV columns have shares in percent, counts, and keys as numbers", () => {
  const table = new FunctionTable(profile(), { sort: ["comm", "pid", "tid", "cpu"] });
  assertEquals(functionCsvColumns(table), [
    ...["event", "overhead", "samples", "period", "comm", "pid", "tid", "cpu"],
  ]);
  assertEquals(Array.from(table.rows, (row) => functionCells(table, row, table.eventNames)), [
    // Equal periods are sorted by samples: two of the second thread, two of the first.
    ["cycles", "50.00", 2, 30, "a,b", 7, 8, 3],
    ["cycles", "50.00", 2, 30, "demo", 7, 7, 0],
    ["faults", "100.00", 1, 5, "demo", 7, 7, 0],
  ]);
  const callees = new FunctionTable(profile(), { sort: ["sym"], callees: true });
  assertEquals(functionCsvColumns(callees), [
    ...["event", "children", "overhead", "samples", "period", "children_samples"],
    ...["children_period", "sym"],
  ]);
  const [row = 0] = callees.rows;
  assertEquals(functionCells(callees, row, ["a"]), ["a", "100.00", "16.67", 1, 10, 4, 60, "main"]);
});

Deno.test("functionJson: shares are in percent with all digits, callees have their own members", () => {
  const rows = textOf({ sort: ["sym"], callees: true, limit: 1 }, "json").map((line) =>
    JSON.parse(line)
  );
  assertEquals(rows, [
    {
      ...{ event: "cycles", event_index: 0, overhead: 100 * (10 / 60), samples: 1, period: 10 },
      ...{ children: 100, children_samples: 4, children_period: 60, sym: "main", level: "." },
    },
    {
      ...{ event: "faults", event_index: 1, overhead: 100, samples: 1, period: 5 },
      ...{ children: 100, children_samples: 1, children_period: 5, sym: "f", level: "." },
    },
  ]);
});

Deno.test("FunctionTable: functions without ranges, of one name in objects of one name, are a row without an offset", () => {
  const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
  const thread = builder.thread(7, 7, "demo");
  for (const path of ["/a/libc.so", "/b/libc.so"]) {
    const object = builder.object({ name: "libc.so", path });
    const stack = builder.stack(-1, builder.place(object, 0x30, [{ name: "g" }]));
    builder.sample({ stack, event: 0, thread, period: 10 });
  }
  const rows = (sort: FunctionOptions["sort"]) => {
    const table = new FunctionTable(builder.profile(), { sort });
    return Array.from(table.rows, (row) => functionCells(table, row, ["cycles"]));
  };
  assertEquals(rows(["dso", "sym"]), [["cycles", "100.00", 2, 20, "libc.so", "g"]]);
  assertEquals(rows(["srcline"]), [["cycles", "100.00", 2, 20, "g"]]);
});

Deno.test("FunctionTable: a profile without CPUs has no rows by CPU", () => {
  const { samples } = profile();
  const bare: Profile = { ...profile(), samples: { ...samples, cpu: undefined } };
  assertThrows(
    () => new FunctionTable(bare, { sort: ["cpu"] }),
    Error,
    "cpu of samples was not collected",
  );
});
