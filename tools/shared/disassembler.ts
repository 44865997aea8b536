/**
 * Disassembles x86 with iced-x86 and AArch64 with Capstone. Loads only the library that is needed.
 */
import { armDisassembler, type Disassembler, x86Disassembler } from "@perfdata/export/code";
import type { InsnMode } from "@perfdata/intel-pt";
import { type Capstone, capstoneText } from "../../view/code/capstone_text.ts";
import { complain } from "./cli.ts";
import { insnText } from "./insn_text.ts";

/**
 * Loads the disassembler of an architecture.
 *
 * @param tool The command's name, for messages.
 * @param arch The recording's architecture; `undefined` means x86-64.
 * @param withText Whether instructions get text. Without text, x86 needs no library.
 * @returns `undefined` if the architecture is not supported.
 */
export async function disassembler(
  tool: string,
  arch: string | undefined,
  withText = true,
): Promise<Disassembler | undefined> {
  if (arch === undefined || arch === "x86_64") return await x86(tool, 64, withText);
  if (/^i[3-6]86$|^x86$/.test(arch)) return await x86(tool, 32, withText);
  if (/^(?:aarch64|arm64)$/.test(arch)) return await aarch64(tool);
  return undefined;
}

async function x86(tool: string, mode: InsnMode, withText: boolean): Promise<Disassembler> {
  return x86Disassembler(mode, withText ? await insnText(tool) : undefined);
}

async function aarch64(tool: string): Promise<Disassembler> {
  try {
    const { default: load } = await import("@alexaltea/capstone-js") as unknown as {
      default: () => Promise<Capstone>;
    };
    return armDisassembler(capstoneText(await load()));
  } catch (error) {
    const [why] = (error as Error).message.split("\n");
    complain(`${tool}: instructions have no text: Capstone cannot be loaded: ${why}`);
    return armDisassembler();
  }
}
