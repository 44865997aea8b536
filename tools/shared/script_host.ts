/** Symbols and code for the text of `script`, in this thread and in workers. */
import type { CodePieces, ScriptHost } from "@perfdata/export/script";
import type { Engine } from "@perfdata/session";
import type { ObjectCodeReader } from "@perfdata/session/code";
import { complain, InputError } from "./cli.ts";
import type { codeFiles } from "./pt_input.ts";
import { type SymbolFlags, symbolsOf } from "./symbol_flags.ts";

/** The flags that name symbols and code, for sending to workers. */
export interface ScriptGiven {
  readonly name: string;
  readonly flags: SymbolFlags;
}

/** Opens symbols and code as the flags say. */
export function scriptHost({ name, flags }: ScriptGiven): ScriptHost {
  const symbols = symbolsOf(flags, name);
  return {
    symbols: ({ recorded }, lines) => symbols({ machine: recorded, lines }),
    code: (engine) => codeReader(engine, name, flags.value),
  };
}

/** Opens the code of the recorded objects. */
export async function codeReader(
  { reader: { arch }, recorded }: Engine,
  name: string,
  value: Parameters<typeof codeFiles>[1],
): Promise<ObjectCodeReader> {
  if (arch !== undefined && !/^(?:x86_64|x86|i[3-6]86)$/.test(arch)) {
    throw new InputError(`${name}: instructions of ${arch} are not decoded: of x86 alone`);
  }
  const { objectCode } = await import("./pt_input.ts");
  return await objectCode(recorded, value, name);
}

/** Reports how much of the code between branches could not be read. */
export function reportCode(name: string, { wanted, missing }: CodePieces): void {
  if (missing === 0) return;
  complain(
    `script: ${name}: ${missing} of ${wanted} pieces of code between branches ` +
      `(${(100 * missing / wanted).toFixed(2)}%) cannot be read, and are left out`,
  );
}
