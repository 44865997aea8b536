/** Runs `addr2line`. */
import { byteAt } from "@perfdata/format/bytes";
import type { BundleObject } from "@perfdata/symbols";
import { type Addr2LineOptions, Addr2LineText, type DwarfError } from "@perfdata/symbols/dwarf";
import { openDwarf, type OpenedDwarf } from "@perfdata/symbols/files";
import { aboutAsync, complain, InputError, writeOut } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { notBundle } from "../shared/not_bundle.ts";
import type { FLAGS } from "../addr2line.ts";

// Modules that few calls need are imported at their point of use: startup costs as much as looking
// up 1,000 addresses.

/**
 * Parses a hexadecimal number, with or without `0x`, like binutils: ignores any text after the
 * digits.
 */
function parseAddress(text: string): number {
  const digits = /^\s*(?:0[xX])?([0-9a-fA-F]*)/.exec(text)?.[1] ?? "";
  return digits.length <= 13
    ? parseInt(digits || "0", 16)
    : Number(BigInt.asIntN(64, BigInt(`0x${digits}`)));
}

/** Same as {@link parseAddress} for the text `bytes[from, to)`, without allocating a string. */
function addressIn(bytes: Uint8Array, from: number, to: number): number {
  let p = from;
  while (p < to && isSpace(byteAt(bytes, p))) p++;
  if (p + 1 < to && bytes[p] === 0x30 && (byteAt(bytes, p + 1) | 0x20) === 0x78) p += 2;
  while (p < to && bytes[p] === 0x30) p++;
  let value = 0;
  for (const first = p; p < to; p++) {
    const byte = byteAt(bytes, p);
    if (byte >= 0x80 || p - first === 13) break;
    const letter = (byte | 0x20) - 0x61;
    const digit = letter >= 0 && letter < 6 ? 10 + letter : byte - 0x30;
    if (digit < 0 || digit > 15 || (digit > 9 && letter < 0)) return value;
    value = value * 16 + digit;
  }
  return p === to ? value : parseAddress(new TextDecoder().decode(bytes.subarray(from, to)));
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

export async function run({ on, value, operands }: FlagsOf<typeof FLAGS>): Promise<number> {
  const path = value.exe ?? "a.out";
  const demangler = on.demangle ? new (await import("@perfdata/symbols")).Demangler() : undefined;
  const options: Addr2LineOptions = {
    functions: on.functions,
    inlines: on.inlines,
    addresses: on.addresses,
    pretty: on["pretty-print"],
    basenames: on.basenames,
    ...(demangler ? { demangle: (name: string) => demangler.demangle(name) } : {}),
  };
  const answerAll = (text: Addr2LineText, base: number): void => {
    const answer = (shown: Float64Array): void => {
      text.write(base === 0 ? shown : shown.map((address) => address + base), writeOut, shown);
    };
    if (operands.length > 0) {
      answer(Float64Array.from(operands, (text) => parseAddress(text)));
    } else answerStdin(answer);
  };
  if (value.symbols !== undefined) {
    const { BundleFrames } = await import("@perfdata/symbols");
    const frames = new BundleFrames(await bundled(value.symbols, path));
    answerAll(new Addr2LineText(frames, () => frames, options), 0);
    return 0;
  }
  let faults = 0;
  const diagnostics = (error: DwarfError): void => {
    if (faults++ < 20) complain(`addr2line: ${path}: ${error.message}`);
  };
  using binary = await open(path, diagnostics);
  const text = new Addr2LineText(binary.dwarf, () => binary.readSymbols(), {
    ...options,
    addressDigits: binary.elf.is64 ? 16 : 8,
  });
  let base = 0;
  if (value.section !== undefined) {
    const section = binary.elf.section(value.section);
    if (section === undefined) throw new Error(`${path}: no section ${value.section}`);
    base = section.addr;
  }
  answerAll(text, base);
  if (faults > 20) complain(`addr2line: ${path}: and ${faults - 20} more of this kind`);
  return 0;
}

/** Finds an object in a bundle by its path, or by its file name if only one object has it. */
async function bundled(file: string, path: string): Promise<BundleObject> {
  const { BundleError, openBundle } = await import("@perfdata/symbols/files");
  const bundle = await explained(file, () => {
    try {
      return openBundle(file);
    } catch (error) {
      throw error instanceof BundleError ? notBundle(file, error) : error;
    }
  });
  const objects = bundle.objects.filter(({ info }) => info.kind === "elf");
  const name = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
  const same = objects.filter(({ info }) => info.path === path);
  const found = same.length > 0
    ? same
    : objects.filter(({ info }) => name(info.path) === name(path));
  const [object] = found;
  if (object === undefined) throw new Error(`${file}: ${path} is not in it`);
  if (found.length > 1) {
    const ids = found.map(({ info }) => `${info.path} ${info.buildId ?? "without build id"}`);
    throw new Error(`${file}: ${path} can be any of ${ids.join(", ")}`);
  }
  return object;
}

function open(path: string, diagnostics: (error: DwarfError) => void): Promise<OpenedDwarf> {
  return explained(path, () => openDwarf(path, { diagnostics }));
}

/** Prefixes the message of an error thrown by `action` with the path. */
async function explained<T>(path: string, action: () => T | Promise<T>): Promise<T> {
  try {
    return await aboutAsync(path, async () => await action());
  } catch (error) {
    if (error instanceof InputError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const message = reason.startsWith(`${path}: `) ? reason : `${path}: ${reason}`;
    throw new Error(message, { cause: error });
  }
}

/**
 * Answers all complete lines after each read, so that interactive users and programs that wait for
 * each answer get it at once. After a read that fills the pipe and ends within a line, more input
 * is on its way: lines are then gathered up to {@link MANY}, because large batches are faster.
 */
function answerStdin(answer: (addresses: Float64Array) => void): void {
  let buffer = new Uint8Array(1 << 20), held = 0;
  let addresses = new Float64Array(1 << 10), count = 0;
  const add = (from: number, to: number): void => {
    if (count === addresses.length) {
      const wider = new Float64Array(4 * count);
      wider.set(addresses);
      addresses = wider;
    }
    addresses[count++] = addressIn(buffer, from, to);
  };
  for (;;) {
    const n = Deno.stdin.readSync(buffer.subarray(held));
    if (n === null) break;
    const end = held + n;
    let from = 0;
    for (let p = held; p < end; p++) {
      if (buffer[p] !== 0x0a) continue;
      add(from, p);
      from = p + 1;
    }
    // Move the incomplete line to the front of the buffer; grow the buffer if that line fills half
    // of it.
    buffer.copyWithin(0, from, end);
    held = end - from;
    if (held > buffer.length / 2) {
      const wider = new Uint8Array(2 * buffer.length);
      wider.set(buffer);
      buffer = wider;
    }
    if (count === 0 || (n >= FULL_PIPE && held > 0 && count < MANY)) continue;
    answer(addresses.subarray(0, count));
    count = 0;
  }
  if (held > 0) add(0, held);
  if (count > 0) answer(addresses.subarray(0, count));
}

/** Capacity of a pipe in bytes, and the number of lines gathered before they are answered. */
const FULL_PIPE = 1 << 16, MANY = 1 << 20;
