/** Formats x86 instructions with iced-x86. */
import type { InsnText } from "@perfdata/pt/decode";
import { icedText } from "../../view/code/iced_text.ts";
import { complain } from "./cli.ts";

/**
 * Loads the formatter for instructions in the syntax of objdump. Returns `undefined` if iced-x86
 * cannot be loaded.
 *
 * @param tool The command's name, to report that. Workers omit it.
 */
export async function insnText(tool?: string): Promise<InsnText | undefined> {
  try {
    return icedText(await import("iced-x86"));
  } catch (error) {
    const [why] = (error as Error).message.split("\n");
    if (tool === undefined) return undefined;
    complain(`${tool}: instructions have no text: iced-x86 cannot be loaded: ${why}`);
    return undefined;
  }
}
