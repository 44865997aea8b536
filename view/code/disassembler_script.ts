import type { InsnText } from "@perfdata/pt/decode";
import type { CodeMode } from "../recording/code_service.ts";

/** Formats an instruction. */
export type CodeText = (bytes: Uint8Array, address: bigint) => string | undefined;

/** The definitions of the files beside a page that opens files, which format instructions. */
export interface DisassemblerScript {
  /** Creates the formatter of x86. */
  perfdataDisassembler?: () => Promise<InsnText>;
  /** Creates the formatter of AArch64. */
  perfdataAarch64Disassembler?: () => Promise<CodeText>;
}

/** Name of the file that formats x86 instructions. */
export const DISASSEMBLER_FILE = "disassembler.js";
/** Name of the file that formats AArch64 instructions. */
export const AARCH64_DISASSEMBLER_FILE = "disassembler-aarch64.js";

/** Name of the file that formats instructions of a mode. */
export function disassemblerFile(mode: CodeMode): string {
  return mode === "aarch64" ? AARCH64_DISASSEMBLER_FILE : DISASSEMBLER_FILE;
}

const loaded = new Map<CodeMode, Promise<CodeText | undefined>>();

/** Loads the formatter of instructions, once; `undefined` if the file is not beside the page. */
export function loadDisassembler(mode: CodeMode): Promise<CodeText | undefined> {
  let found = loaded.get(mode);
  if (found === undefined) loaded.set(mode, found = load(mode));
  return found;
}

async function load(mode: CodeMode): Promise<CodeText | undefined> {
  if (!await scriptLoaded(disassemblerFile(mode))) return undefined;
  const { perfdataDisassembler, perfdataAarch64Disassembler } = globalThis as DisassemblerScript;
  try {
    if (mode === "aarch64") return await perfdataAarch64Disassembler?.();
    const text = await perfdataDisassembler?.();
    return text && ((bytes, address) => text(bytes, address, mode));
  } catch {
    return undefined;
  }
}

/** Runs a script beside the page. Returns whether it is there. */
function scriptLoaded(file: string): Promise<boolean> {
  return new Promise((found) => {
    const script = document.createElement("script");
    script.src = file;
    script.onload = () => found(true);
    script.onerror = () => found(false);
    document.head.append(script);
  });
}
