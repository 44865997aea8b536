/**
 * Runs DuckDB over tables in a process of its own, the only one that loads native code: the version
 * and hash are in `deno.sql.lock`. Queries can only read the tables.
 */
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBResult,
  DuckDBTypeId,
  type Json,
  StatementType,
} from "npm:@duckdb/node-api@1.5.5-r.5";
import { quoted, tableView, VIEWS } from "./sql_views.ts";
import { wrapped } from "./wrapped.ts";

/** The job, sent by the command as JSON. */
export interface SqlJob {
  /** The directory of the tables. */
  readonly folder: string;
  readonly tables: readonly { readonly name: string; readonly files: number }[];
  /** The supported version of the tables. */
  readonly version: number;
  /** The query; without it, queries come from standard input. */
  readonly query: string | undefined;
  readonly format: "table" | "csv" | "json" | "parquet";
  /** An empty directory for spilled data, and for the file of format `parquet`. */
  readonly scratch: string;
}

/** The file name of format `parquet`. */
const RESULT = "result.parquet";

/** An error whose message is one line. */
class SqlError extends Error {}

async function run(connection: DuckDBConnection, sql: string): Promise<DuckDBResult> {
  return await connection.run(sql);
}

async function connect(job: SqlJob): Promise<DuckDBConnection> {
  const { folder, scratch } = job;
  const instance = await DuckDBInstance.create(":memory:", {
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
    allow_persistent_secrets: "false",
    temp_directory: `${scratch}/spill`,
  });
  const connection = await instance.connect();
  await run(connection, "SET TimeZone = 'UTC'");
  await run(
    connection,
    `SET allowed_directories = [${[folder, scratch].map((path) => quoted(`${path}/`)).join(", ")}]`,
  );
  await run(connection, "SET enable_external_access = false");
  await run(connection, "SET lock_configuration = true");
  return connection;
}

/** Creates the views. Throws if tables are missing or of another version. */
async function makeViews(connection: DuckDBConnection, job: SqlJob): Promise<void> {
  const { folder, tables, version } = job;
  const files = (name: string) => quoted(`${folder}/${name}/**/*.parquet`);
  const found = await connection.runAndReadAll(
    `SELECT DISTINCT version FROM read_parquet(${files("recordings")}) ORDER BY 1`,
  );
  const versions = found.getRowsJson().map(([value]) => String(value));
  const other = versions.filter((found) => found !== String(version));
  if (other.length > 0) {
    throw new SqlError(
      `${folder}: tables of version ${
        versions.join(" and ")
      }, expected ${version}: export them again`,
    );
  }
  for (const { name, files } of tables) await run(connection, tableView(folder, name, files));
  for (const [name, , query] of VIEWS) await run(connection, `CREATE VIEW ${name} AS ${query}`);
}

const INTEGERS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.UHUGEINT,
]);
const NUMBERS: ReadonlySet<DuckDBTypeId> = new Set([
  ...INTEGERS,
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.FLOAT,
  DuckDBTypeId.DOUBLE,
  DuckDBTypeId.DECIMAL,
]);

const encoder = new TextEncoder();

function print(text: string): void {
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

/** A value as text; empty for null. */
function plain(value: Json): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function csvCell(value: Json): string {
  const text = plain(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Prints rows as CSV or JSON while they arrive. */
async function printLines(result: DuckDBResult, format: "csv" | "json"): Promise<void> {
  const names = result.columnNames();
  const types = result.columnTypes();
  if (format === "csv") print(`${names.map(csvCell).join(",")}\n`);
  const keys = names.map((name) => JSON.stringify(name));
  // 64-bit integers arrive as text, and are printed as numbers.
  const isInteger = types.map(({ typeId }) => INTEGERS.has(typeId));
  for await (const rows of result.yieldRowsJson()) {
    const lines = rows.map((row) =>
      format === "csv"
        ? row.map(csvCell).join(",")
        : `{${
          row.map((value, i) =>
            `${keys[i]}:${isInteger[i] === true && value !== null ? value : JSON.stringify(value)}`
          ).join(",")
        }}`
    );
    if (lines.length > 0) print(`${lines.join("\n")}\n`);
  }
}

async function printTable(result: DuckDBResult): Promise<void> {
  const isNumber = result.columnTypes().map(({ typeId }) => NUMBERS.has(typeId));
  // deno-lint-ignore no-control-regex -- what would move the cursor
  const shown = (text: string) => text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
  const lines = [result.columnNames().map(shown)];
  for await (const rows of result.yieldRowsJson()) {
    for (const row of rows) lines.push(row.map((value) => shown(plain(value))));
  }
  const widths = isNumber.map((_, i) =>
    lines.reduce((width, cells) => Math.max(width, [...cells[i] as string].length), 0)
  );
  const text = lines.map((cells) =>
    cells.map((cell, i) => {
      const blank = " ".repeat((widths[i] as number) - [...cell].length);
      return isNumber[i] === true ? blank + cell : cell + blank;
    }).join("  ").trimEnd()
  );
  print(`${text.join("\n")}\n`);
}

/** Keywords that begin a query. */
const QUESTIONS: ReadonlySet<string> = new Set([
  ...["SELECT", "FROM", "WITH", "VALUES", "TABLE"],
  ...["SHOW", "DESCRIBE", "SUMMARIZE"],
]);

function notQuestion(word: string): SqlError {
  return new SqlError(`${word} is no question: SELECT, FROM, WITH, SHOW, DESCRIBE, SUMMARIZE are`);
}

/** Runs one query. Accepts only a single SELECT, because other statements could write. */
async function answer(connection: DuckDBConnection, job: SqlJob, query: string): Promise<void> {
  const statements = await connection.extractStatements(query);
  if (statements.count !== 1) throw new SqlError(`${statements.count} statements, expected one`);
  // Check the keyword before preparing: preparing some statements creates directories.
  const word =
    /^(?:\s|--.*\n|\/\*(?:[^*]|\*(?!\/))*\*\/|\()*(\w*)/.exec(query)?.[1]?.toUpperCase() ?? "";
  if (!QUESTIONS.has(word)) throw notQuestion(word);
  const prepared = await statements.prepare(0);
  const { statementType } = prepared;
  if (statementType !== StatementType.SELECT) {
    throw notQuestion(StatementType[statementType] ?? word);
  }
  if (job.format === "parquet") {
    const path = quoted(`${job.scratch}/${RESULT}`);
    const text = query.trim().replace(/(?<!;);+$/, "");
    await run(connection, `COPY (${text}\n) TO ${path} (FORMAT parquet, COMPRESSION zstd)`);
    return;
  }
  const result = await prepared.stream();
  if (job.format === "table") await printTable(result);
  else await printLines(result, job.format);
}

function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [first = ""] = message.split("\n\n");
  return first.split("\n").map((line) => line.trim()).filter((line) => line !== "").join(" ");
}

const HELP = `A question ends with ; and reads tables: SELECT, FROM, WITH, SHOW or DESCRIBE.
  .help      this text
  .tables    tables and views
  .exit      end
`;

/** Runs queries from standard input until it ends. */
async function prompt(connection: DuckDBConnection, job: SqlJob): Promise<number> {
  const { createInterface } = await import("node:readline");
  const { stdin, stdout } = await import("node:process");
  const isTerminal = Deno.stdin.isTerminal();
  const names = [...job.tables.map(({ name }) => name), ...VIEWS.map(([name]) => name)];
  const columns = await connection.runAndReadAll(
    "SELECT DISTINCT column_name FROM duckdb_columns() WHERE NOT internal",
  );
  const words = [
    ...names,
    ...columns.getRowsJson().map(([name]) => String(name)),
    ...["SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "USING"],
    ...[".help", ".tables", ".exit"],
  ];
  const lines = createInterface({
    input: stdin,
    terminal: isTerminal,
    ...(isTerminal ? { output: stdout } : {}),
    completer: (line: string): [string[], string] => {
      const word = /(?<![.\w])[.\w]*$/.exec(line)?.[0] ?? "";
      const found = words.filter((known) => known.toLowerCase().startsWith(word.toLowerCase()));
      return [word === "" ? names : found, word];
    },
  });
  const ask = (text: string) => {
    lines.setPrompt(text);
    if (isTerminal) lines.prompt();
  };
  let [query, failed] = ["", false];
  ask("sql> ");
  for await (const line of lines) {
    const word = line.trim();
    if (query === "" && word.startsWith(".")) {
      if (word === ".exit" || word === ".quit") break;
      if (word === ".tables") {
        print(`${job.tables.map(({ name }) => name).join("\n")}\n`);
        print(VIEWS.map(([name, about]) => `${name.padEnd(12)}${about}\n`).join(""));
      } else print(HELP);
    } else {
      query += `${line}\n`;
      if (query.trim() === "") query = "";
      if (/;\s*$/.test(query)) {
        const text = query;
        query = "";
        if (!await tried(() => answer(connection, job, text))) failed = true;
      }
    }
    ask(query === "" ? "sql> " : "...> ");
  }
  lines.close();
  if (query.trim() !== "" && !await tried(() => answer(connection, job, query))) failed = true;
  if (isTerminal) print("\n");
  // Interactive users have seen the errors, so the exit code is 0.
  return failed && !isTerminal ? 1 : 0;
}

/** Runs an action, and prints its error in one line. Returns whether it succeeded. */
async function tried(action: () => Promise<void>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) Deno.exit(0);
    console.error(wrapped(`sql: ${oneLine(error)}`).join("\n"));
    return false;
  }
}

if (import.meta.main) {
  const job = JSON.parse(Deno.args[0] ?? "") as SqlJob;
  let code = 1;
  await tried(async () => {
    const connection = await connect(job);
    await makeViews(connection, job);
    const { query } = job;
    code = query === undefined
      ? await prompt(connection, job)
      : await tried(() => answer(connection, job, query))
      ? 0
      : 1;
  });
  Deno.exit(code);
}
