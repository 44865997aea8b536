/** Runs commands for the fuzzer, and knows their expected errors. */
import { PerfDataError } from "@perfdata/format/bytes";
import { OutputError } from "@perfdata/format/files";
import { SymbolsError } from "@perfdata/symbols/resolver";
import { DwarfError } from "@perfdata/symbols/dwarf";
import { InputError, UsageError } from "../../tools/shared/cli.ts";
import { tool, type ToolResult } from "../support/tool.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;

/** An intact recording of `fixtures/demo/demo`, with call chains. */
export const RECORDED: string = `${FIXTURES}recorded/callchain.perf.data`;
/** The path of the program that was recorded. */
export const DEMO_PATH = "/tmp/demo/demo";

/** Errors that report bad input. */
const EXPECTED = [
  PerfDataError,
  SymbolsError,
  DwarfError,
  InputError,
  UsageError,
  OutputError,
  Deno.errors.BrokenPipe,
];

/** Whether an error is expected, and not a fault of the program. */
export function isExpected(error: unknown): boolean {
  return EXPECTED.some((known) => error instanceof known);
}

/** Output after which the fuzzer closes the pipe. */
const MOST_OUTPUT = 1 << 25;

/** Runs a command. An error that ended it is thrown. */
export async function run(
  name: string,
  args: readonly string[],
  input?: Uint8Array,
): Promise<ToolResult> {
  const result = await tool(name, args, { input, most: MOST_OUTPUT });
  if (result.thrown !== undefined) throw result.thrown;
  return result;
}

/** The files of a machine in `folder`, for `--symfs`, with a program at its path. */
export function machineFiles(folder: string, path: string, program: Uint8Array): string {
  const symfs = `${folder}/beside`;
  Deno.mkdirSync(`${symfs}${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
  Deno.writeFileSync(`${symfs}${path}`, program);
  return symfs;
}

/** The program of {@linkcode RECORDED}. */
export function demo(): Uint8Array {
  return Deno.readFileSync(`${FIXTURES}demo/demo`);
}
