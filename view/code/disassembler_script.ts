import type { InsnText } from "@perfdata/pt/decode";

/** Name of the file beside a page that opens files, which formats x86 instructions. */
export const DISASSEMBLER_FILE = "disassembler.js";

/** The definitions in that file. */
export interface DisassemblerScript {
  /** Creates the formatter. */
  perfdataDisassembler?: () => Promise<InsnText>;
}

let loaded: Promise<InsnText | undefined> | undefined;

/** Loads the formatter of instructions, once; `undefined` if the file is not beside the page. */
export function loadDisassembler(): Promise<InsnText | undefined> {
  return loaded ??= new Promise((found) => {
    const script = document.createElement("script");
    script.src = DISASSEMBLER_FILE;
    script.onload = () => {
      const make = (globalThis as DisassemblerScript).perfdataDisassembler;
      found(make?.().catch(() => undefined));
    };
    script.onerror = () => found(undefined);
    document.head.append(script);
  });
}
