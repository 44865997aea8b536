/**
 * Measures how often `diff` marks an unchanged function, and how often it finds one that is 30% slower.
 *
 *   deno run -A bench/diff_chance.ts FOLDER [RUNS]
 *
 * Records a C++ and a Go program with perf, about 4,000 samples each. In each of RUNS (10) rounds: three unchanged
 * recordings, one with a slow large function, and one with a slow medium one, in turn, so that
 * other load on the machine affects all alike. Recordings that exist in the folder are kept.
 * Run it on a busy machine, where runs differ most. docs/diff.md has the results.
 */
import { diff, type DiffMeasure } from "@perfdata/export/tree";
import { type Profile, profileColumns, recordedProfile, SampleCollector } from "@perfdata/profile";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { runEngine } from "@perfdata/session";
import { openResolver } from "@perfdata/symbols/files";

const [folder, runs = "10"] = Deno.args;
if (folder === undefined) throw new Error("usage: bench/diff_chance.ts FOLDER [RUNS]");
const SOURCES = new URL("./diff_chance/", import.meta.url).pathname;
/** Maximum number of compared pairs of each kind. */
const PAIRS = 200;
/** Number of recordings on each side of a comparison of groups. */
const SEVERAL = 4;

interface Program {
  readonly name: string;
  readonly compile: readonly string[];
  readonly rounds: number;
  /** Name of the slowed function, by kind of recording. */
  readonly slowed: Readonly<Record<"big" | "mid", string>>;
}

const PROGRAMS: readonly Program[] = [
  {
    name: "cc",
    compile: ["g++", "-O2", "-g", "-fno-omit-frame-pointer", "-o", "workcc", `${SOURCES}work.cc`],
    rounds: 950,
    slowed: { big: "price_model", mid: "hash_name" },
  },
  {
    name: "go",
    compile: ["go", "build", "-o", "workgo", `${SOURCES}work.go`],
    rounds: 1350,
    slowed: { big: "priceModel", mid: "average" },
  },
];

function run(command: string, ...args: string[]): void {
  const { success, stderr } = new Deno.Command(command, { args, cwd: folder, stdout: "null" })
    .outputSync();
  if (!success) throw new Error(`${command}: ${new TextDecoder().decode(stderr)}`);
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}

/** Makes a recording, unless it exists. */
function record({ name, rounds }: Program, kind: string, slow?: string): void {
  const path = `${name}-${kind}.data`;
  if (exists(`${folder}/${path}`)) return;
  const args = ["record", "-q", "-e", "cpu-clock", "-F", "997", "-g", "-o", path, `./work${name}`];
  run("perf", ...args, `${rounds}`, ...(slow === undefined ? [] : [slow, "130"]));
}

async function read(path: string): Promise<Profile> {
  const reader = await PerfDataReader.open(openSource(path));
  const consumer = new SampleCollector(profileColumns({}));
  const engine = await runEngine(reader, [consumer]);
  const resolver = openResolver({ machine: engine.recorded });
  return (await recordedProfile(consumer, { resolver, title: "" })).profile;
}

async function readAll(program: string, kind: string, count: number): Promise<Profile[]> {
  const profiles: Profile[] = [];
  for (let i = 0; i < count; i++) {
    profiles.push(await read(`${folder}/${program}-${kind}-${i}.data`));
  }
  return profiles;
}

type Sides = readonly [Profile[], Profile[]];

/** Returns pairs of different recordings, the closest in time first. */
function pairsOf(base: readonly Profile[], other: readonly Profile[]): Sides[] {
  const pairs: Sides[] = [];
  for (let step = base === other ? 1 : 0; step < other.length; step++) {
    for (const [i, one] of base.entries()) {
      const two = other[(i + step) % other.length];
      const isTwice = base === other && (i + step) % other.length < i;
      if (two !== undefined && !isTwice && pairs.length < PAIRS) pairs.push([[one], [two]]);
    }
  }
  return pairs;
}

/** Returns groups of recordings that were made in turn. */
function groupsOf(base: readonly Profile[], other: readonly Profile[]): Sides[] {
  const groups: Sides[] = [];
  const pick = (all: readonly Profile[], from: number, step: number) =>
    Array.from({ length: SEVERAL }, (_, i) => all[from + i * step]).filter((one) =>
      one !== undefined
    );
  for (let from = 0; from < base.length; from++) {
    // The base has three recordings for each recording of the others.
    const sides: Sides = base === other
      ? [pick(base, from, 2), pick(base, from + 1, 2)]
      : [pick(base, from, 3), pick(other, Math.floor(from / 3), 1)];
    if (sides.every(({ length }) => length === SEVERAL)) groups.push(sides);
  }
  return groups;
}

/** Returns the number of comparisons that mark the slowed function, and that mark another one. */
function judge(sides: readonly Sides[], by: DiffMeasure, slow?: string): [number, number] {
  let [found, other] = [0, 0];
  for (const [before, after] of sides) {
    const event = before[0]?.events[0]?.name ?? "";
    const marked = diff(before, after, { event, by }).rows.filter((row) => row.isSignificant)
      .map(({ name }) => slow !== undefined && name.includes(slow));
    if (marked.includes(true)) found++;
    if (marked.includes(false)) other++;
  }
  return [found, other];
}

for (const program of PROGRAMS) {
  if (!exists(`${folder}/work${program.name}`)) {
    run(program.compile[0] as string, ...program.compile.slice(1));
  }
  for (let i = 0; i < Number(runs); i++) {
    for (let j = 0; j < 3; j++) record(program, `same-${3 * i + j}`);
    for (const kind of ["big", "mid"] as const) {
      record(program, `${kind}-${i}`, program.slowed[kind]);
    }
  }
}
for (const { name, slowed } of PROGRAMS) {
  const same = await readAll(name, "same", 3 * Number(runs));
  const [big, mid] = [
    await readAll(name, "big", Number(runs)),
    await readAll(name, "mid", Number(runs)),
  ];
  for (const [what, of] of [["one", pairsOf], [`${SEVERAL}`, groupsOf]] as const) {
    for (const by of ["total", "samples", "period"] as DiffMeasure[]) {
      const figures = [["nothing changed", same, undefined], [slowed.big, big, slowed.big], [
        slowed.mid,
        mid,
        slowed.mid,
      ]] as const;
      const parts = figures.map(([title, other, slow]) => {
        const sides = of(same, other as Profile[]);
        const [found, others] = judge(sides, by, slow);
        return slow === undefined
          ? `${title}: ${others} of ${sides.length} marked`
          : `${title} 30% slower: found in ${found} of ${sides.length}, others in ${others}`;
      });
      console.log(`${name}, ${what} a side, --by ${by}: ${parts.join("; ")}`);
    }
  }
}
