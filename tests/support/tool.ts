/**
 * Runs a tool as its task does, with the same permissions, inside this process or in a process of
 * its own.
 */
import { main } from "../../tools/shared/command.ts";
import { COMMANDS, perfdata } from "../../tools/perfdata.ts";
import { inHost } from "./host.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** Output and exit code of a tool. */
export interface ToolResult {
  /** Its exit code. */
  readonly code: number;
  /** Standard output. */
  readonly stdout: Uint8Array;
  /** Standard output as text. */
  readonly out: string;
  /** Standard error as text, each message on one line. */
  readonly err: string;
  /** Standard error as on a terminal, with long messages wrapped. */
  readonly shown: string;
  /** The error that the command threw and `main` printed; missing for a process. */
  readonly thrown?: unknown;
}

/** Options of a run. */
export interface ToolOptions {
  /** Standard input; empty by default. */
  readonly input?: Uint8Array | undefined;
  /** Working directory; the repository by default. */
  readonly cwd?: string | undefined;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Ends the run. */
  readonly signal?: AbortSignal;
  /** Number of bytes of output after which the reader closes the pipe; ignored for a process. */
  readonly most?: number;
}

const TASKS: Readonly<Record<string, { command: string }>> =
  JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`)).tasks;

/** The arguments of `deno` with which the task of that name runs the tool. */
export function toolArguments(name: string): string[] {
  const command = TASKS[name]?.command ?? "";
  const match = /deno run (.*) (tools\/\w+\.ts)$/.exec(command);
  if (match === null) throw new Error(`deno.json has no task ${name} that runs a tool`);
  const [, flags = "", file = ""] = match;
  return ["run", "--config", `${ROOT}deno.json`, ...flags.split(" "), `${ROOT}${file}`];
}

/** The flags of `deno run` in these arguments. */
const flagsOf = (args: readonly string[]): string[] =>
  args.filter((word) => word.startsWith("--allow-"));

/** Commands that do their work in a child process with its own standard streams. */
const STARTING: ReadonlySet<string> = new Set(["sql"]);

/** Whether the arguments ask for threads. Threads of two test files at once deadlock. */
function startsThreads(args: readonly string[]): boolean {
  return args.some((word, i) =>
    word === "--jobs" ? args[i + 1] !== "1" : word.startsWith("--jobs=") && word !== "--jobs=1"
  );
}

/** Whether this process may start others. If not, a command answers without them. */
function mayStart(): boolean {
  return Deno.permissions.querySync({ name: "run" }).state === "granted";
}

/**
 * Runs a tool to its end, inside this process (see {@linkcode inHost}). Runs follow each other.
 * Tests of the process itself (signals, closed pipes, V8 flags, memory) need
 * {@linkcode toolProcess}.
 */
export async function tool(
  name: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<ToolResult> {
  const command = name === "perfdata" ? args[0] ?? name : name;
  const isProcess = STARTING.has(command) || options.signal !== undefined || startsThreads(args);
  if (isProcess && mayStart()) return await toolProcess(name, args, options);
  const { input, cwd = ROOT, env = {}, most = Infinity } = options;
  const own = name === "perfdata"
    ? perfdata
    : (await [...COMMANDS.values()].flat().find((entry) => entry.name === name)?.load())?.tool;
  if (own === undefined) throw new Error(`no command ${name}`);
  let thrown: unknown;
  const run = async (args: readonly string[]): Promise<number> => {
    try {
      return await own.run(args);
    } catch (error) {
      thrown = error;
      throw error;
    }
  };
  const { code, stdout, stderr } = await inHost(() => main({ ...own, run }, args), {
    args,
    flags: flagsOf(toolArguments(name)),
    input,
    cwd,
    env: { NO_COLOR: "1", PERFDATA_CWD: "", ...env },
    most,
  });
  const result = resultOf(code, stdout, stderr);
  return thrown === undefined ? result : { ...result, thrown };
}

/**
 * Runs a tool to its end, and returns its standard output.
 *
 * @throws {Error} If its exit code is not 0; the message contains its standard error.
 */
export async function outputOf(name: string, ...args: string[]): Promise<string> {
  const { code, out, err } = await tool(name, args);
  if (code !== 0) throw new Error(`${name} ${args.join(" ")}: exit code ${code}: ${err}`);
  return out;
}

function resultOf(code: number, stdout: Uint8Array, stderr: Uint8Array): ToolResult {
  const decoder = new TextDecoder();
  const shown = decoder.decode(stderr);
  return { code, stdout, out: decoder.decode(stdout), err: unwrapped(shown), shown };
}

/** Messages on standard error, each on one line. */
export const unwrapped = (shown: string): string => shown.replaceAll(/\n {4}(?=\S)/g, " ");

/** Runs a tool to its end, in its own process. */
export async function toolProcess(
  name: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<ToolResult> {
  const { cwd = ROOT, env = {} } = options;
  return await runProgram(Deno.execPath(), [...toolArguments(name), ...args], {
    ...options,
    cwd,
    env: { PERFDATA_CWD: "", ...env },
  });
}

/**
 * Runs any program to its end.
 *
 * @throws {Deno.errors.NotFound} If it is not installed.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<ToolResult> {
  const { input, cwd, env = {}, signal } = options;
  const child = new Deno.Command(program, {
    args: [...args],
    env: { NO_COLOR: "1", ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    ...(signal === undefined ? {} : { signal }),
  }).spawn();
  const output = child.output();
  if (input !== undefined) {
    const writer = child.stdin.getWriter();
    try {
      await writer.write(input);
      await writer.close();
    } catch {
      // The program ended before it read all of its input.
    }
  }
  const { code, stdout, stderr } = await output;
  return resultOf(code, stdout, stderr);
}

/** Calls back with a temporary directory, and removes it afterwards. */
export async function inFolder(use: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * The directory of Deno's downloaded packages. A test that changes `HOME` keeps it; otherwise Deno
 * downloads everything again.
 */
export function denoFolder(): string {
  const { stdout } = new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).outputSync();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}
