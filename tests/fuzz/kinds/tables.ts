/** A damaged table among the intact tables of a recording (`perfdata export parquet`). */
import { toolProcess } from "../../support/tool.ts";
import { parquetFiles } from "../../support/parquet_rows.ts";
import { RECORDED, run } from "../commands.ts";
import type { InputKind, Seed } from "./kind.ts";
import { wideParquet } from "./wide_parquet.ts";

const WIDE = "wide ";

let tables: Promise<ReadonlyMap<string, Uint8Array>> | undefined;

/** The tables of a recording with call chains, by name. */
function sound(): Promise<ReadonlyMap<string, Uint8Array>> {
  return tables ??= exported();
}

async function exported(): Promise<ReadonlyMap<string, Uint8Array>> {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-tables-" });
  try {
    await run("export", ["parquet", "--names", "-f", "-o", folder, RECORDED]);
    const found = new Map<string, Uint8Array>();
    for (const path of parquetFiles(folder)) {
      found.set(path.split("/").at(-2) ?? "", Deno.readFileSync(path));
    }
    return found;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Commands that read tables: `DAMAGED` is the folder with the damaged one, `SOUND` one without. */
export const READING: readonly (readonly [string, ...string[]])[] = [
  ["funcs", "DAMAGED"],
  ["funcs", "--csv", "--sort", "pid,comm,dso,sym", "DAMAGED"],
  ["funcs", "--inline", "--children", "DAMAGED"],
  ["tree", "DAMAGED"],
  ["tree", "--inline", "--json", "DAMAGED"],
  ["flame", "-f", "-o", "OUT/flame.html", "DAMAGED"],
  ["export", "folded", "--inline", "-f", "-o", "OUT/folded", "DAMAGED"],
  ["diff", "DAMAGED", "SOUND"],
  ["diff", "SOUND", "DAMAGED"],
];

/** A table with other bytes than the intact one. */
interface Damaged {
  readonly table: string;
  readonly bytes: Uint8Array;
}

/** Writes two folders of tables: `sound`, and `damaged`, in which one table may be replaced. */
async function write(folder: string, damaged?: Damaged): Promise<void> {
  for (const [table, bytes] of await sound()) {
    for (const name of ["sound", "damaged"]) {
      const to = `${folder}/${name}/${table}`;
      Deno.mkdirSync(to, { recursive: true });
      const isDamaged = name === "damaged" && table === damaged?.table;
      Deno.writeFileSync(`${to}/0.parquet`, isDamaged ? damaged.bytes : bytes);
    }
  }
}

/** Reads tables, one of which may be damaged. Returns the exit code. */
export async function readTables(
  [command, ...args]: readonly [string, ...string[]],
  folder: string,
  damaged?: Damaged,
): Promise<number> {
  await write(folder, damaged);
  const { code } = await run(
    command,
    args.map((arg) =>
      arg.replace("OUT", folder).replace("DAMAGED", `${folder}/damaged`)
        .replace("SOUND", `${folder}/sound`)
    ),
  );
  return code;
}

const QUESTIONS = ["FROM functions", "FROM callers", "FROM by_second", "FROM samples"];
/** Limit of a query in milliseconds. */
const LONGEST_QUESTION = 30_000;

/** Queries tables with `sql`, whose engine is a process. Returns the exit code. */
export async function askTables(
  question: string,
  folder: string,
  damaged?: Damaged,
): Promise<number> {
  await write(folder, damaged);
  const signal = AbortSignal.timeout(LONGEST_QUESTION);
  const { code } = await toolProcess("sql", [question, `${folder}/damaged`], { signal });
  if (signal.aborted) throw new Error(`takes longer than ${LONGEST_QUESTION / 1000} s`);
  return code;
}

const tableOf = (seed: string): string => seed.replace(WIDE, "");

/** Tables, as written and with wide numbers. */
export const TABLES: InputKind = {
  kind: "table",
  async seeds() {
    const all: Omit<Seed, "kind" | "ours">[] = [];
    for (const [name, bytes] of await sound()) {
      all.push({ name, bytes }, { name: `${WIDE}${name}`, ...wideParquet(bytes) });
    }
    return all;
  },
  targets: [{
    name: "table among others",
    async run(bytes, { folder }, random, seed) {
      const code = await readTables(random.pick(READING), folder, { table: tableOf(seed), bytes });
      if (![0, 1].includes(code)) throw new Error(`exit code ${code}`);
    },
  }, {
    name: "question about tables",
    async run(bytes, { folder }, random, seed) {
      // A process takes as long as some hundred other runs.
      if (!random.once(12)) return;
      const code = await askTables(random.pick(QUESTIONS), folder, { table: tableOf(seed), bytes });
      if (![0, 1].includes(code)) throw new Error(`exit code ${code}`);
    },
  }],
};
