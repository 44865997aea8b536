/** Filters select the records whose lines match. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { PerfDataReader } from "@perfdata/format/records";
import { fileSource } from "@perfdata/format/files";
import { type RecordsFilter, type RecordsOptions, writeRecords } from "./records.ts";
import { recordings } from "../testing.ts";

/** The filtered members of a line. */
interface Line {
  readonly type: string;
  readonly pid?: number | null;
  readonly tid?: number | null;
  readonly cpu?: number | null;
  readonly time?: string | null;
  readonly event?: string | null;
  readonly comm?: string | null;
  readonly body?: { readonly pid?: number; readonly tid?: number; readonly cpu?: number };
}

async function textOf(path: string, options: RecordsOptions): Promise<string | undefined> {
  let text = "";
  try {
    const source = fileSource(path);
    const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
    const decoder = new TextDecoder();
    const write = (block: Uint8Array) => void (text += decoder.decode(block));
    await writeRecords(reader, write, { diagnostics: () => {}, u64: "string", ...options });
    source.close?.();
    return text;
  } catch {
    return undefined;
  }
}

const linesOf = (text: string): string[] => text.split("\n").slice(0, -1);

/** Types whose own `pid` and `tid` are those of the described thread. */
const OWN = /^(MMAP2?|COMM|EXIT|FORK|READ|ITRACE_START|NAMESPACES)$/;

/** A number in a line; -1 if it is missing. */
function numberOf(line: Line, what: "pid" | "tid" | "cpu"): number {
  if (line.type === "AUXTRACE") return line.body?.[what === "cpu" ? "cpu" : "tid"] ?? -2;
  const own = OWN.test(line.type) && what !== "cpu" ? line.body?.[what] : undefined;
  return own ?? line[what] ?? -2;
}

const timeOf = ({ type, time }: Line): bigint => type === "AUXTRACE" ? 0n : BigInt(time ?? 0);

Deno.test("writeRecords: filters select exactly the lines with the wanted values", async () => {
  let files = 0, compared = 0, left = 0;
  for (const path of await recordings()) {
    if (Deno.statSync(path).size > 60_000) continue;
    const all = await textOf(path, { order: "time" });
    if (all === undefined || all === "") continue;
    files++;
    const texts = linesOf(all);
    const lines = texts.map((text): Line => JSON.parse(text));
    const some = <T>(values: readonly T[]): T | undefined => values[values.length >> 1];
    const check = async (filter: RecordsFilter, isChosen: (line: Line) => boolean, most = 1e9) => {
      const expected = texts.filter((_, i) => isChosen(lines[i] as Line)).slice(0, most);
      const options = { order: "time", filter, ...(most < 1e9 ? { limit: most } : {}) } as const;
      const what = `${path} ${Object.keys(filter)}`;
      assertEquals(linesOf(await textOf(path, options) ?? ""), expected, what);
      compared += expected.length;
      left += texts.length - expected.length;
    };
    // The number in the middle one of the records that have it, which kernel records have too.
    for (const what of ["pid", "tid", "cpu"] as const) {
      const number = some(
        lines.map((line) => numberOf(line, what)).filter((n) => n >= 0 && n < 2 ** 31),
      );
      if (number === undefined) continue;
      await check({ [`${what}s`]: new Set([number]) }, (line) => numberOf(line, what) === number);
    }
    const times = lines.map(timeOf).filter((time) => time > 0n).sort((a, b) => a < b ? -1 : 1);
    const middle = some(times);
    if (middle !== undefined) {
      const range = [times[0] as bigint, middle] as const;
      const isIn = (line: Line) => timeOf(line) >= range[0] && timeOf(line) <= range[1];
      await check({ time: range }, isIn);
      await check({ time: range }, isIn, 3);
    }
    const samples = lines.filter(({ type }) => type === "SAMPLE");
    const event = some(samples)?.event;
    if (typeof event === "string") {
      await check({ event: (name) => name === event }, (line) => line.event === event);
    }
    const comm = some(samples.filter((line) => typeof line.comm === "string"))?.comm;
    if (typeof comm === "string") {
      const isComm = (line: Line) => line.type === "SAMPLE" && line.comm === comm;
      await check({ comm: (name) => name === comm }, isComm);
      const cpu = numberOf(some(samples.filter(isComm)) as Line, "cpu");
      if (cpu < 0) continue;
      await check(
        { comm: (name) => name === comm, cpus: new Set([cpu]) },
        (line) => isComm(line) && numberOf(line, "cpu") === cpu,
        5,
      );
    }
  }
  console.log(`${files} files: ${compared} lines chosen, ${left} left out`);
  assert(files >= 30 && compared > 3000 && left > 3000, `${files} ${compared} ${left}`);
});

Deno.test("writeRecords: a filter by function without symbols is refused", async () => {
  const reader = await PerfDataReader.open(fileSource("fixtures/recorded/callchain.perf.data"));
  const filter = { symbol: (name: string) => name === "main" };
  await assertRejects(
    async () => await writeRecords(reader, () => {}, { filter }),
    TypeError,
    "needs symbols",
  );
});
