/** Runs a tool as its task does, with the same permissions: within this process, or in one of its own. */
import { main } from "../../tools/shared/command.ts";
import { COMMANDS, perfdata } from "../../tools/perfdata.ts";
import { inHost } from "./host.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** What a tool printed, and how it ended. */
export interface ToolResult {
  /** Its exit code. */
  readonly code: number;
  /** Standard output. */
  readonly stdout: Uint8Array;
  /** Standard output as text. */
  readonly out: string;
  /** Standard error as text, in which each message is one line. */
  readonly err: string;
  /** Standard error as a terminal shows it, in which long messages are wrapped. */
  readonly shown: string;
  /** The error that the command threw and `main` made a message of; missing for a process. */
  readonly thrown?: unknown;
}

/** How to run it. */
export interface ToolOptions {
  /** What is on its standard input; nothing by default. */
  readonly input?: Uint8Array | undefined;
  /** The directory that it runs in; the repository by default. */
  readonly cwd?: string | undefined;
  /** Variables of its environment, in addition. */
  readonly env?: Readonly<Record<string, string>>;
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Bytes of output after which nobody reads any more; does not apply to a process. */
  readonly most?: number;
}

const TASKS: Readonly<Record<string, { command: string }>> =
  JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`)).tasks;

/** The arguments of `deno` by which the task of that name runs the tool. */
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

/** Commands whose work is done by a process that they start, with their own standard streams. */
const STARTING: ReadonlySet<string> = new Set(["sql"]);

/** Whether a run is asked to start threads. Those of two test files at once wait for each other for ever. */
function startsThreads(args: readonly string[]): boolean {
  return args.some((word, i) =>
    word === "--jobs" ? args[i + 1] !== "1" : word.startsWith("--jobs=") && word !== "--jobs=1"
  );
}

/** Whether this process may start others. Where it may not, a command answers without them. */
function mayStart(): boolean {
  return Deno.permissions.querySync({ name: "run" }).state === "granted";
}

/**
 * Runs a tool to its end, within this process, as {@linkcode inHost} says. Runs follow each other. What is about the
 * process itself (signals, pipes that are closed, V8's flags, memory) takes {@linkcode toolProcess}.
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
 * @throws {Error} If its exit code is not 0, with what it wrote to standard error.
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

/** Runs a tool to its end, in a process of its own. */
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

/** Calls back with a temporary directory, which is removed afterwards. */
export async function inFolder(use: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Where Deno keeps the packages that it has downloaded: a test that changes `HOME` keeps that, or Deno
 * downloads them all again.
 */
export function denoFolder(): string {
  const { stdout } = new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).outputSync();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}
