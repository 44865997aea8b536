/** Lines and tables about trust in objects laid out by hand. */
import { assertEquals } from "@std/assert";
import type { ObjectTrust, SymbolTrust } from "@perfdata/session";
import { causesText, misleadingLines, refusedLines, trustLines } from "./trust_lines.ts";
import { trustedObject } from "./trust_testing.ts";
import { trustJson, trustText } from "./trust_text.ts";

/** Trust in some objects: sums of their counts. */
function trustOf(...objects: ObjectTrust[]): SymbolTrust {
  const sum = (of: (object: ObjectTrust) => { samples: number; addresses: number } | undefined) => {
    const samples = objects.reduce((sum, object) => sum + (of(object)?.samples ?? 0), 0);
    const addresses = objects.reduce((sum, object) => sum + (of(object)?.addresses ?? 0), 0);
    return { addresses, samples, period: samples };
  };
  const causes = [...objects[0]?.unresolved.keys() ?? []];
  return {
    all: sum(({ all }) => all),
    resolved: sum(({ resolved }) => resolved),
    lines: sum(({ lines }) => lines),
    unverified: sum(({ unverified }) => unverified),
    newest: sum(({ newest }) => newest),
    unresolved: new Map(
      causes.map((cause) => [cause, sum(({ unresolved }) => unresolved.get(cause))]),
    ),
    objects,
  };
}

const id = "ab".repeat(20);
const MISSING = trustedObject("/usr/bin/gone", "file missing", 3, id);
const REFUSED: ObjectTrust = {
  ...trustedObject("/usr/bin/other", "build id differs", 1, id),
  refused: [{ path: "/tmp/other", origin: "path", reason: "build id differs", buildId: "cd" }],
  faults: ["2 GB is too large", "a line is damaged"],
  faultCount: 5,
  unverified: { addresses: 1, samples: 1, period: 1 },
};

Deno.test("trustLines: missing files give share, reasons by addresses, and the remedy", () => {
  assertEquals(trustLines(undefined, { verbose: true }), []);
  assertEquals(trustLines(trustOf(MISSING), { verbose: false, counted: "callers" }), [
    "1 of 3 addresses (0.00% of callers) have a function; without: file missing (2); " +
    "what helps most: perfdata symbols fetch; --verbose says more",
  ]);
  assertEquals(causesText(trustOf(MISSING, REFUSED)), "file missing (2), build id differs (2)");
});

Deno.test("trustLines: verbose lists each object, refused files and errors once", () => {
  const refused = [
    `/tmp/other: not used: build id differs (it is cd, recorded was ${id})`,
    "/usr/bin/other: 2 GB is too large",
    "/usr/bin/other: a line is damaged",
    "/usr/bin/other: and 3 more of this kind",
  ];
  assertEquals(refusedLines(trustOf(REFUSED, REFUSED)), refused);
  assertEquals(trustLines(trustOf(REFUSED), { verbose: true }), [
    ...refused,
    "/usr/bin/other: 1 of 3 addresses have a function; without: build id differs (2)",
    "the functions of 1 addresses (100.00% of samples) are not verified " +
    '(in tables "?"): no build id recorded of /usr/bin/other',
    "1 of 3 addresses (0.00% of samples) have a function; without: build id differs (2); " +
    "what helps most: perfdata symbols fetch",
  ]);
});

Deno.test("trustLines: misleading files are listed without verbose", () => {
  assertEquals(misleadingLines(trustOf(REFUSED)), ["/usr/bin/other: 2 GB is too large"]);
  const newest = { ...MISSING, newest: { addresses: 1, samples: 1, period: 1 } };
  assertEquals(misleadingLines(trustOf(newest)), [
    "33.33% of samples have the name of the newest JIT code at a reused address; " +
    "record with perf record -k mono",
  ]);
});

Deno.test("trustText: tables of the total and of objects, remedies with the searched places", () => {
  const looked = { ...MISSING, looked: ["/usr/lib/debug/gone"] };
  const trust = trustOf(looked);
  assertEquals(
    trustText(trust, { fetch: "perfdata symbols fetch a.data", hasPeriods: false }),
    `                       SAMPLES           ADDRESSES
all                          3  100.00%          3  100.00%
with a function              0    0.00%          1   33.33%
with a source line           0    0.00%          0    0.00%
without: file missing        3  100.00%          2   66.67%

SAMPLES  RESOLVED  ADDRESSES  RESOLVED  LINES  OBJECT         SYMBOLS FROM  WITHOUT
      3     0.00%          3    33.33%  0.00%  /usr/bin/gone  -             file missing (2)

what helps:
100.00% of samples: perfdata symbols fetch a.data
  /usr/bin/gone (100.00%): looked for as
    /usr/lib/debug/gone
`,
  );
  const none = { rows: [], text: "", copied: 0, needed: 0 };
  const json = JSON.parse(trustJson(trust, none, false));
  assertEquals(json.all, { addresses: 3, samples: 3 });
  assertEquals(json.objects[0].remedy, "perfdata symbols fetch");
  assertEquals(JSON.parse(trustJson(trust, none, true)).all.period, 3);
});
