/** `annotate --insns`: the instructions of functions with their shares. */
import type { AnnotatedCount, CodeCounts } from "@perfdata/export/annotate";
import type { Profile } from "@perfdata/export/profile";
import { InsnDecoder, type InsnMode } from "@perfdata/intel-pt";
import type { Engine } from "@perfdata/session/engine";
import type { InsnText } from "@perfdata/session/pt";
import type { Resolution, SymbolResolver } from "@perfdata/symbols";
import { cfiMachine, RowTable } from "@perfdata/symbols/cfi";
import { openObjectCode } from "@perfdata/symbols/object-code";
import { complain, writeLine, writeOut } from "./_cli.ts";

/** Longest function that is listed: the longest of LLVM's have 1 MB. */
const MOST_CODE = 1 << 22;

/** EM_X86_64 */
const X86_64 = 62;

/** What instructions are printed with. */
export interface InsnOptions {
  /** Name of the recording, for messages. */
  readonly name: string;
  /** Name of the event. */
  readonly event: string;
  /** Sum of all periods of the event. */
  readonly whole: number;
  /** Whether lines of JSON are printed. */
  readonly json: boolean;
  /** Makes the texts of instructions. */
  readonly text: InsnText | undefined;
}

/** An instruction. */
interface Insn extends AnnotatedCount {
  /** Where it is, as the file's symbols count. */
  readonly address: number;
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly file?: string | undefined;
  readonly line?: number;
}

/** Width of the code of a machine in bits; `undefined` where it is not x86. */
export function insnMode(arch: string | undefined): InsnMode | undefined {
  if (arch === undefined || arch === "x86_64") return 64;
  return /^i[3-6]86$|^x86$/.test(arch) ? 32 : undefined;
}

/** Prints the instructions of a function; returns whether its code could be read. */
export async function printInsns(
  { objects }: Profile,
  counts: CodeCounts,
  { engine, resolver }: { readonly engine: Engine; readonly resolver: SymbolResolver },
  mode: InsnMode,
  options: InsnOptions,
): Promise<boolean> {
  const { name, event, whole, json } = options;
  const { path } = objects[counts.object] ?? { path: "[unknown]" };
  const share = (period: number) => whole === 0 ? 0 : 100 * period / whole;
  if (!json) {
    writeLine(
      `${counts.name} in ${path}: ${counts.self.samples} samples, ` +
        `${share(counts.self.period).toFixed(2)}% of ${event} in itself`,
    );
  }
  const insns = await insnsOf(counts, engine, resolver, mode, options.text);
  if (insns === undefined) {
    complain(`annotate: ${name}: the code of ${counts.name} cannot be read (${path})`);
    return false;
  }
  let last = "";
  if (!json) writeLine("   SELF  SAMPLES  INSTRUCTION");
  for (const { address, bytes, text, samples, period, file, line = 0 } of insns) {
    const at = address.toString(16);
    if (json) {
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      writeOut(
        JSON.stringify({
          event,
          function: counts.name,
          object: path,
          address: `0x${at}`,
          bytes: hex,
          text,
          samples,
          period,
          file,
          line,
        }) + "\n",
      );
      continue;
    }
    const place = file === undefined || line === 0 ? "" : `${file}:${line}:`;
    if (place !== "" && place !== last) writeLine(`${"".padEnd(18)}${place}`);
    if (place !== "") last = place;
    const own = samples === 0 ? "" : `${share(period).toFixed(2)}%`;
    const number = samples === 0 ? "" : String(samples);
    writeLine(`${own.padStart(7)} ${number.padStart(8)}  ${at.padStart(8)}:  ${text}`);
  }
  return true;
}

/** The instructions of a function; `undefined` where there is no code. */
async function insnsOf(
  { object: number, addresses }: CodeCounts,
  engine: Engine,
  resolver: SymbolResolver,
  mode: InsnMode,
  textOf: InsnText | undefined,
): Promise<Insn[] | undefined> {
  const object = engine.places.objects[number];
  const machine = cfiMachine(X86_64);
  const [some] = addresses.keys();
  if (object === undefined || machine === undefined || some === undefined) return undefined;
  const symbols = await resolver.open(object);
  try {
    const [found] = await symbols.find(Float64Array.of(some));
    const { start = 0, end = 0 } = found?.symbol ?? {};
    const size = end - start;
    if (size <= 0 || size > MOST_CODE) return undefined;
    const code = openObjectCode(object, new RowTable(machine), resolver.codeSearch);
    const bytes = new Uint8Array(size);
    for (let i = 0; i < size; i++) {
      const byte = code.memory(start + i, 1);
      if (Number.isNaN(byte)) return undefined;
      bytes[i] = byte;
    }
    const insns = lengths(bytes, mode);
    const segment = symbols.segments.find(({ offset, size }) =>
      start >= offset && start < offset + size
    );
    const base = segment === undefined ? 0 : segment.address - segment.offset;
    const lines = await symbols.find(Float64Array.from(insns, ([at]) => start + at));
    return insns.map(([at, length], i): Insn => {
      const own = bytes.subarray(at, at + length);
      const address = start + at + base;
      // A sample may be in the middle of an instruction: of one that the decoder does not know.
      const count = { samples: 0, period: 0 };
      for (let k = 0; k < length; k++) {
        const here = addresses.get(start + at + k);
        count.samples += here?.samples ?? 0;
        count.period += here?.period ?? 0;
      }
      const text = textOf?.(own, BigInt(address), mode) ?? "";
      return { address, bytes: own, text, ...count, ...lineOf(lines[i]) };
    });
  } finally {
    symbols.close();
  }
}

function lineOf(found: Resolution | undefined): { file?: string | undefined; line?: number } {
  const [frame] = found?.frames ?? [];
  return frame === undefined ? {} : { file: frame.file, line: frame.line };
}

/** Where instructions start, and their lengths; a byte that is none stands for itself. */
function lengths(bytes: Uint8Array, mode: InsnMode): [number, number][] {
  const decoder = new InsnDecoder();
  const found: [number, number][] = [];
  for (let at = 0; at < bytes.length;) {
    const length = Math.max(1, decoder.decode(bytes, at, bytes.length, mode));
    found.push([at, length]);
    at += length;
  }
  return found;
}
