/** Runs `sql`. */
import { ASKED_TABLES, TABLES, TABLES_VERSION } from "@perfdata/tables";
import { about, complain, exists, InputError, oneFile, UsageError } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { onSignals } from "../shared/on_signals.ts";
import { parseJobs } from "../shared/record_flags.ts";
import type { SqlJob } from "../shared/sql_engine.ts";
import { tableFolder } from "@perfdata/perfdata/files";
import type { FLAGS } from "../sql.ts";

/** The shell that starts DuckDB. */
const SHELL = "/bin/sh";

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value } = flags;
  const [first = "", ...rest] = flags.operands;
  // An operand with blanks is a query, unless a file of that name exists.
  const isQuery = /\s/.test(first) && !exists(first);
  const query = isQuery ? first : undefined;
  const operands = isQuery ? rest : flags.operands;
  if (query === undefined && value.parquet !== undefined) {
    throw new UsageError("--parquet needs a question");
  }
  const files = operands.length > 1 ? operands : [oneFile(operands)];
  if (query === undefined && files.includes("-")) {
    throw new UsageError("questions and a recording cannot both come from standard input");
  }
  const tables = files.filter((name) => exists(`${name}/recordings`));
  if (tables.length > 0 && (files.length > 1 || value.keep !== undefined)) {
    throw new UsageError(`${tables[0]} has tables: they are asked alone, without --keep`);
  }
  using scratch = new Scratch();
  let isWhole = true;
  let folder = tables[0];
  if (folder === undefined) {
    folder = value.keep ?? `${scratch.path}/tables`;
    isWhole = await writeTablesOf(files, folder, flags);
  }
  const found = tableFolder(folder);
  const job: SqlJob = {
    folder: about(folder, () => Deno.realPathSync(folder)),
    tables: [...TABLES, ...ASKED_TABLES].map(({ name }) => ({
      name,
      files: found?.paths(name).length ?? 0,
    })).filter(({ name, files }) => files > 0 || TABLES.some((table) => table.name === name)),
    version: TABLES_VERSION,
    query,
    format: value.parquet !== undefined ? "parquet" : on.csv ? "csv" : on.json ? "json" : "table",
    scratch: scratch.path,
  };
  for (const { name, files } of job.tables) {
    if (files === 0) throw new InputError(`${folder}: no table ${name}`);
  }
  const code = await engine(job);
  if (code === 0 && value.parquet !== undefined) await moveResult(job, value.parquet, on.force);
  return code === 0 && isWhole ? 0 : 1;
}

/** Writes the tables that the query reads. */
async function writeTablesOf(
  files: readonly string[],
  folder: string,
  flags: FlagsOf<typeof FLAGS>,
): Promise<boolean> {
  const { writeAllTables } = await import("../shared/written_tables.ts");
  const { on, value } = flags;
  // The query filters rows, so the tables have all of them.
  const none = { comm: undefined, dso: undefined, symbol: undefined, time: undefined };
  const all = {
    operands: [],
    on: { ...on, "stitch-lbr": false },
    value: { ...value, ...none, pid: undefined, tid: undefined, cpu: undefined },
  };
  const done = await writeAllTables(
    files.map((name) => ({
      ...{
        tool: "sql",
        name,
        folder,
        partition: [],
        format: "parquet" as const,
        flags: all,
      },
      ...{ names: true, force: on.force, itrace: value.itrace },
    })),
    parseJobs(value.jobs) ?? 1,
  );
  if (done.failed === files.length) throw new InputError("no recording could be read");
  if (done.failed > 0) complain(`sql: ${done.failed} of ${files.length} files were left out`);
  return done.failed === 0 && done.isWhole;
}

/** A temporary directory, removed at the end. */
class Scratch implements Disposable {
  readonly path: string = Deno.makeTempDirSync({ prefix: "perfdata-sql-" });
  readonly #signals = onSignals(() => {
    if (exists(this.path)) this.#remove();
  });

  #remove(): void {
    Deno.removeSync(this.path, { recursive: true });
  }

  [Symbol.dispose](): void {
    this.#signals[Symbol.dispose]();
    this.#remove();
  }
}

/** Runs DuckDB in a process of its own. */
async function engine(job: SqlJob): Promise<number> {
  // Started by the shell: the permission has to name a program, and the path of Deno differs by
  // machine.
  const { state } = Deno.permissions.querySync({ name: "run", command: SHELL });
  if (state !== "granted") {
    throw new InputError(`it starts DuckDB: install perfdata with --allow-run=cat,${SHELL}`);
  }
  const path = (name: string) => new URL(name, import.meta.url).pathname;
  const flags = ["--no-prompt", "--no-config", `--lock=${path("../../deno.sql.lock")}`, "--frozen"];
  const child = new Deno.Command(SHELL, {
    args: [
      ...["-c", 'exec "$0" "$@"', Deno.execPath()],
      ...["run", ...flags, "--allow-read", "--allow-ffi", "--allow-env"],
      ...[path("../shared/sql_engine.ts"), JSON.stringify(job)],
    ],
    stdin: job.query === undefined ? "inherit" : "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  return (await child.status).code;
}

/** Copies the result file to its final name. */
async function moveResult({ scratch }: SqlJob, path: string, force: boolean): Promise<void> {
  const { newFile } = await import("@perfdata/format/files");
  about(path, () => {
    using file = newFile(path, { force });
    using result = Deno.openSync(`${scratch}/result.parquet`);
    const bytes = new Uint8Array(1 << 20);
    for (let n = result.readSync(bytes); n !== null; n = result.readSync(bytes)) {
      file.write(bytes.subarray(0, n));
    }
    file.commit();
  });
}
