/** All rows of a table are distinct: functions of one name, and shortened names. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { SampleCollector, shortNames } from "@perfdata/profile";
import { bytesSource, PerfDataError } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { functionTable, functionText, type SortKey } from "@perfdata/report";
import { runEngine } from "@perfdata/session";
import { Demangler, ElfFile, readElfSymbols } from "@perfdata/symbols";
import { localResolver, openBinaryFile } from "@perfdata/symbols/files";
import { corpusFiles } from "../support/corpus.ts";
import { ignored } from "../support/ignored.ts";
import { IN_WORK, mappedRecording, oneFunction } from "../support/mapped_recording.ts";
import { inFolder, outputOf } from "../support/tool.ts";

const NAMES = [
  "work",
  "work",
  "other",
  "_ZN1a4workI17h0123456789abcdefE",
  "_ZN1a4work17h0123456789abcdefE",
  "_ZN1a4work17hfedcba9876543210E",
];

/** Lines of a table for a recording of two programs that have all of {@link NAMES}. */
async function lines(folder: string, sort: readonly SortKey[], width?: number): Promise<string[]> {
  const programs = [["one", "11"], ["two", "22"]].map(([name = "", byte = ""]) => ({
    path: `${folder}/${name}`,
    buildId: byte.repeat(20),
  }));
  for (const { path, buildId } of programs) {
    Deno.writeFileSync(path, oneFunction({ names: NAMES, buildId }));
  }
  const data = await mappedRecording(
    ...programs.flatMap((program) =>
      NAMES.map((_, i) => ({ ...program, offset: IN_WORK + 32n * BigInt(i), samples: 3 + i }))
    ),
  );
  const reader = await PerfDataReader.open(bytesSource(data));
  const counts = new SampleCollector({});
  const engine = await runEngine(reader, [counts]);
  const table = await functionTable(counts, localResolver({ places: {} }), { sort });
  const { eventNames } = engine;
  return [...functionText(table, { format: "table", eventNames, width })].join("").trimEnd()
    .split("\n").slice(2);
}

/** The part of a line without numbers: the subject of the row. */
const isOf = (line: string): string => line.replace(/^[█▏▎▍▌▋▊▉ ]*[\d.]+% +\d+ +\d+ +/, "");

Deno.test("funcs on a terminal: functions of one name differ by object, hash or address", () =>
  inFolder(async (folder) => {
    let compared = 0;
    for (const sort of [["dso", "sym"], ["sym"], ["sym", "dso"], ["comm", "dso", "sym"]] as const) {
      const plain = await lines(folder, sort);
      assertEquals(plain.length, 2 * NAMES.length);
      for (const width of [200, 100, 70]) {
        const told = (await lines(folder, sort, width)).map(isOf);
        assertEquals(told.length, plain.length);
        assertEquals(new Set(told).size, told.length, told.join("\n"));
        // Distinct names have no mark.
        const others = told.filter((line) => line.includes("other"));
        if (sort.length > 1) {
          assert(others.every((line) => /other(?: {2}|$)/.test(line)), others[0]);
        }
        compared += told.length;
      }
      // Other outputs have perf's names.
      assert(plain.every((line) => !/@|::h[0-9a-f]{16}/.test(line)), plain.join("\n"));
    }
    const text = (await lines(folder, ["dso", "sym"], 200)).join("\n");
    assertMatch(text, /one .* work @90\b/);
    assertMatch(text, /two .* work @b0\b/);
    assertMatch(text, /a::work::h0123456789abcdef\b/);
    assertMatch(text, /a::work::hfedcba9876543210\b/);
    assertMatch((await lines(folder, ["sym"], 200)).join("\n"), /\bother \(two\)/);
    console.log(`${compared} rows compared`);
    assert(compared >= 100);
  }));

Deno.test("funcs: rows of functions of one name are the same after a transform of nothing", () =>
  inFolder(async (folder) => {
    const programs = [["one", "11"], ["two", "22"]].map(([name = "", byte = ""]) => ({
      path: `${folder}/${name}`,
      buildId: byte.repeat(20),
    }));
    for (const { path, buildId } of programs) {
      Deno.writeFileSync(path, oneFunction({ names: NAMES, buildId }));
    }
    const file = `${folder}/perf.data`;
    Deno.writeFileSync(
      file,
      await mappedRecording(
        ...programs.flatMap((program) =>
          NAMES.map((_, i) => ({ ...program, offset: IN_WORK + 32n * BigInt(i), samples: 3 + i }))
        ),
      ),
    );
    const rows = async (...flags: string[]) => {
      const text = await outputOf("funcs", "--json", "--sort", "dso,sym", ...flags, file);
      return text.trimEnd().split("\n").map((line) => {
        const { samples, period, dso, sym } = JSON.parse(line);
        return [samples, period, dso, sym].join(" ");
      }).sort();
    };
    const all = await rows();
    // "work" at two addresses in two programs.
    assertEquals(all.filter((row) => row.endsWith(" work")).length, 4, all.join("\n"));
    assertEquals(await rows("--drop", "no_such_function"), all);
    assertEquals(await rows("--drop", "other"), all.filter((row) => !row.endsWith(" other")));
  }));

/** Installed programs in C, C++, Rust and Go with many names. */
const PROGRAMS = ["/usr/bin/node", "/usr/local/go/bin/go", "/usr/lib/go/bin/go", Deno.execPath()];
/** Names per table, and limit of the tables for a program. */
const NAMES_OF_TABLE = 2000, TABLES = 8;

function namesOf(path: string): string[] {
  try {
    using source = openBinaryFile(path);
    const { table } = readElfSymbols(ElfFile.open(source));
    const demangler = new Demangler();
    const names = new Set<string>();
    for (let i = 0; i < table.size; i++) names.add(demangler.demangle(table.name(i)));
    return [...names];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Shortens the names of a table to some widths. Fails if two are equal or one does not fit. */
function shorten(names: readonly string[], of: string): number {
  for (const room of [16, 24, 40, 64]) {
    const short = shortNames(names, room);
    for (const [i, text] of short.entries()) {
      assert(text.length <= Math.max(room, names[i]?.length ?? 0) && text.length <= room, text);
    }
    assertEquals(new Set(short).size, new Set(names).size, `${of} in ${room}`);
  }
  return names.length;
}

const programs = PROGRAMS.map((path) => [path, namesOf(path)] as const)
  .filter(([, names]) => names.length > NAMES_OF_TABLE);

Deno.test(
  "short names: functions of large programs in C++ and Go differ within a narrow column",
  ignored(programs.length === 0 ? "no program with a large symbol table (node, go)" : undefined),
  () => {
    let compared = 0;
    for (const [path, names] of programs) {
      const step = Math.max(NAMES_OF_TABLE, Math.floor(names.length / TABLES));
      for (let at = 0; at + NAMES_OF_TABLE <= names.length; at += step) {
        compared += shorten(names.slice(at, at + NAMES_OF_TABLE), path);
      }
    }
    console.log(`${compared} names of ${programs.length} programs`);
    assert(compared >= NAMES_OF_TABLE);
  },
);

const files = corpusFiles().filter(({ row, sound }) => sound && Number(row["bytes"]) < 2_000_000);

Deno.test(
  "short names: functions of each recording of the corpus differ within a narrow column",
  ignored(files.length === 0 ? "the corpus is not here (PERFDATA_CORPUS)" : undefined),
  async () => {
    let compared = 0, tables = 0;
    for (const { path } of files) {
      const names = await sampledNames(path);
      if (names.length < 2) continue;
      compared += shorten(names, path);
      tables++;
    }
    console.log(`${compared} names of ${tables} recordings`);
    assert(tables >= 50 && compared >= 2000, `${compared} names of ${tables} recordings`);
  },
);

/** Sampled functions and objects, by the recording's own symbols. */
async function sampledNames(path: string): Promise<string[]> {
  try {
    const reader = await PerfDataReader.open(bytesSource(Deno.readFileSync(path)), {
      diagnostics: () => {},
    });
    const counts = new SampleCollector({});
    const engine = await runEngine(reader, [counts], { diagnostics: () => {} });
    const resolver = localResolver({ places: {}, machine: engine.recorded });
    const table = await functionTable(counts, resolver, { sort: ["dso", "sym"] });
    const names = new Set<string>();
    for (const row of table.rows) {
      names.add(table.names.functions.text(table.symbol(row)));
      names.add(table.names.dsos.text(table.name(row, "dso")));
    }
    return [...names].slice(0, NAMES_OF_TABLE);
  } catch (error) {
    // Other tests cover unreadable recordings.
    if (error instanceof PerfDataError) return [];
    throw error;
  }
}
