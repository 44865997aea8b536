/** `annotate --insns`: the instructions of functions with their shares. */
import type { AnnotatedCount, CodeCounts } from "@perfdata/export/annotate";
import { markedName, type Profile } from "@perfdata/profile/profile";
import { InsnDecoder, type InsnMode } from "@perfdata/intel-pt";
import type { Engine } from "@perfdata/session/engine";
import type { ObjectCodeReader } from "@perfdata/session/object-code";
import type { InsnText } from "@perfdata/session/pt";
import type { ObjectSymbols, Resolution, SymbolObject, SymbolResolver } from "@perfdata/symbols";
import { complain, writeLine, writeOut } from "./_cli.ts";

/** Longest function that is listed: the longest of LLVM's have 1 MB. */
const MOST_CODE = 1 << 22;

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
  /** Width of the code. */
  readonly mode: InsnMode;
  /** Makes the texts of instructions. */
  readonly text: InsnText | undefined;
  /** Where the code is read from. */
  readonly code: ObjectCodeReader;
}

/** Code of a function in one piece: a name may have several, as where a JIT compiler made it again. */
interface Piece extends AnnotatedCount {
  /** As the object's symbols count. */
  readonly start: number;
  readonly size: number;
  /** When it was there, ns; of code that a JIT compiler made. */
  readonly time: number;
}

/** An instruction. */
interface Insn extends AnnotatedCount {
  /** Where it is: in a file, as that was linked. */
  readonly address: bigint;
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

/** Prints the instructions of a function; returns whether all of its code could be read. */
export async function printInsns(
  { objects }: Profile,
  counts: CodeCounts,
  { engine, resolver }: { readonly engine: Engine; readonly resolver: SymbolResolver },
  options: InsnOptions,
): Promise<boolean> {
  const { name, json, code } = options;
  const { path, name: shown } = objects[counts.object] ?? { path: "[unknown]", name: "[unknown]" };
  const object = engine.places.objects[counts.object];
  if (object === undefined) {
    complain(
      `annotate: ${name}: the code of ${counts.name} cannot be read: nothing was mapped there`,
    );
    return false;
  }
  const symbols = await resolver.open(object);
  let isWhole = true;
  try {
    for (const [i, piece] of (await piecesOf(counts, object, symbols, engine)).entries()) {
      if (i > 0 && !json) writeLine("");
      const found = piece.size > MOST_CODE
        ? { missing: `${piece.size} bytes are no function` }
        : code.read(object, piece.start, piece.size, piece.time);
      if (!json) {
        writeLine(
          `${markedName(counts)} in ${shown}: ${piece.samples} samples, ` +
            `${share(piece.period, options)} of ${options.event} in itself`,
        );
      }
      if ("missing" in found) {
        complain(
          `annotate: ${name}: the code of ${counts.name} cannot be read: ${path}: ${found.missing}` +
            (object.kind === "kernel" ? "; --vmlinux names it, perf record --kcore copies it" : ""),
        );
        isWhole = false;
        continue;
      }
      const insns = await insnsOf(piece, found.bytes, object, symbols, counts, options);
      const { name: own, verified } = counts;
      const about = { event: options.event, function: own, verified, object: path };
      if (json) printJson(about, insns);
      else printTable(insns, options);
    }
  } finally {
    symbols.close();
  }
  return isWhole;
}

function share(period: number, { whole }: InsnOptions): string {
  return `${(whole === 0 ? 0 : 100 * period / whole).toFixed(2)}%`;
}

function printJson(about: Readonly<Record<string, unknown>>, insns: readonly Insn[]): void {
  for (const { address, bytes, text, samples, period, file, line } of insns) {
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const at = `0x${address.toString(16)}`;
    writeOut(
      JSON.stringify({ ...about, address: at, bytes: hex, text, samples, period, file, line }) +
        "\n",
    );
  }
}

function printTable(insns: readonly Insn[], options: InsnOptions): void {
  const width = Math.max(8, ...insns.map(({ address }) => address.toString(16).length));
  let last = "";
  writeLine("   SELF  SAMPLES  INSTRUCTION");
  for (const { address, text, samples, period, file, line = 0 } of insns) {
    const place = file === undefined || line === 0 ? "" : `${file}:${line}:`;
    if (place !== "" && place !== last) writeLine(`${"".padEnd(18)}${place}`);
    if (place !== "") last = place;
    const own = samples === 0 ? "" : share(period, options);
    const number = samples === 0 ? "" : String(samples);
    const at = address.toString(16).padStart(width);
    writeLine(`${own.padStart(7)} ${number.padStart(8)}  ${at}:  ${text}`);
  }
}

/** The pieces that addresses are in, those with the most samples first. */
async function piecesOf(
  { object: number, addresses }: CodeCounts,
  object: SymbolObject,
  symbols: ObjectSymbols,
  { places }: Engine,
): Promise<Piece[]> {
  const times = new Map<number, number>();
  if (object.kind === "jit") {
    for (let place = 0; place < places.count; place++) {
      if (places.object(place) !== number) continue;
      const address = places.address(place);
      if (addresses.has(address)) times.set(address, places.times[place] as number);
    }
  }
  const own = Float64Array.from(addresses.keys());
  const found = await symbols.find(own, own.map((address) => times.get(address) ?? Infinity));
  const pieces = new Map<number, Piece>();
  for (const [i, { symbol }] of found.entries()) {
    const address = own[i] as number;
    const { start, end } = symbol ?? { start: address, end: address };
    const count = addresses.get(address) as AnnotatedCount;
    const known = pieces.get(start);
    pieces.set(start, {
      start,
      size: Math.max(end - start, known?.size ?? 0),
      time: known?.time ?? times.get(address) ?? Infinity,
      samples: count.samples + (known?.samples ?? 0),
      period: count.period + (known?.period ?? 0),
    });
  }
  return [...pieces.values()].sort((a, b) => b.period - a.period || a.start - b.start);
}

/** The instructions of a piece of code. */
async function insnsOf(
  { start, time }: Piece,
  bytes: Uint8Array,
  object: SymbolObject,
  symbols: ObjectSymbols,
  { addresses }: CodeCounts,
  { mode, text: textOf }: InsnOptions,
): Promise<Insn[]> {
  const insns = lengths(bytes, mode);
  const base = shownFrom(object, symbols, start);
  const places = Float64Array.from(insns, ([at]) => start + at);
  const lines = await symbols.find(places, places.map(() => time));
  return insns.map(([at, length], i): Insn => {
    const own = bytes.subarray(at, at + length);
    const address = BigInt.asUintN(64, BigInt(start + at + base));
    // A sample may be in the middle of an instruction: of one that the decoder does not know.
    const count = { samples: 0, period: 0 };
    for (let k = 0; k < length; k++) {
      const here = addresses.get(start + at + k);
      count.samples += here?.samples ?? 0;
      count.period += here?.period ?? 0;
    }
    const text = textOf?.(own, address, mode) ?? "";
    return { address, bytes: own, text, ...count, ...lineOf(lines[i]) };
  });
}

/** What is added to addresses to show them: those of a file are as it was linked, others as they ran. */
function shownFrom(object: SymbolObject, symbols: ObjectSymbols, start: number): number {
  switch (object.kind) {
    case "kernel":
      return object.referenceAddress ?? 0;
    case "module":
      return object.loadAddress ?? 0;
    default: {
      const segment = symbols.segments.find(({ offset, size }) =>
        start >= offset && start < offset + size
      );
      return segment === undefined ? 0 : segment.address - segment.offset;
    }
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
