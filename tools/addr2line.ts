/**
 * `addr2line`: function, file and line of addresses in a binary; flags and text of binutils'.
 */
import { parseArgs } from "@std/cli";
import type { BundleObject } from "@perfdata/symbols";
import { type Addr2LineOptions, Addr2LineText, type DwarfError } from "@perfdata/symbols/dwarf";
import { openDwarf, type OpenedDwarf } from "@perfdata/symbols/open-dwarf";

// What few calls need is imported where they do: to start takes as long as 1,000 addresses.

const HELP = `addr2line: tells function, file and line of addresses in a binary

usage: addr2line [flags] [ADDRESS…]     addresses are hexadecimal; without any, one a line is
                                        read from standard input

  -e, --exe FILE          the binary (default: a.out)
  -f, --functions         print the function as well
  -i, --inlines           print the functions that the code was inlined into as well
  -a, --addresses         print the address as well
  -p, --pretty-print      print all of a frame on one line
  -s, --basenames         print file names without folders
  -C, --demangle          print readable names of C++ and Rust functions
      --symbols FILE      a symbol bundle, in place of the binary, which only names what is meant;
                          see "symbols bundle"
  -j, --section NAME      addresses count from the start of that section
      --debug             with errors, print where in the program they come from
  -h, --help              print this

Debug information is also found in separate files: .gnu_debuglink and build id under
/usr/lib/debug, dwz, FILE.dwp, .dwo.

examples:
  deno run addr2line -e program -f -i -C 0x401136
  deno run addr2line -e program -ifpC < addresses.txt

exit code: 0 done, 1 the file cannot be read, 2 wrong usage
`;

class UsageError extends Error {}

const encoder = new TextEncoder();

function writeOut(bytes: Uint8Array): void {
  for (let n = 0; n < bytes.length;) n += Deno.stdout.writeSync(bytes.subarray(n));
}

/** As binutils reads it: hexadecimal, with or without `0x`; what follows is not looked at. */
function parseAddress(text: string): number {
  const digits = /^\s*(?:0[xX])?([0-9a-fA-F]*)/.exec(text)?.[1] ?? "";
  return digits.length <= 13
    ? parseInt(digits || "0", 16)
    : Number(BigInt.asIntN(64, BigInt(`0x${digits}`)));
}

/** What {@link parseAddress} gives for the text `bytes[from, to)`, without making a string of it. */
function addressIn(bytes: Uint8Array, from: number, to: number): number {
  let p = from;
  while (p < to && isSpace(bytes[p] as number)) p++;
  if (p + 1 < to && bytes[p] === 0x30 && ((bytes[p + 1] as number) | 0x20) === 0x78) p += 2;
  while (p < to && bytes[p] === 0x30) p++;
  let value = 0;
  for (const first = p; p < to; p++) {
    const byte = bytes[p] as number;
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

async function run(args: string[]): Promise<void> {
  const flags = parseArgs(args, {
    boolean: [
      "functions",
      "inlines",
      "addresses",
      "pretty-print",
      "basenames",
      "demangle",
      "debug",
      "help",
    ],
    string: ["exe", "section", "symbols", "_"],
    alias: {
      e: "exe",
      f: "functions",
      i: "inlines",
      a: "addresses",
      p: "pretty-print",
      s: "basenames",
      C: "demangle",
      j: "section",
      h: "help",
    },
    unknown(arg, key) {
      if (key !== undefined) throw new UsageError(`unknown flag ${arg.replace(/=.*/s, "")}`);
    },
  });
  if (flags.help) return writeOut(encoder.encode(HELP));
  const path = String(flags.exe ?? "a.out");
  const demangler = flags.demangle
    ? new (await import("@perfdata/symbols")).Demangler()
    : undefined;
  const options: Addr2LineOptions = {
    functions: flags.functions === true,
    inlines: flags.inlines === true,
    addresses: flags.addresses === true,
    pretty: flags["pretty-print"] === true,
    basenames: flags.basenames === true,
    ...(demangler ? { demangle: (name: string) => demangler.demangle(name) } : {}),
  };
  const answerAll = (text: Addr2LineText, base: number): void => {
    const answer = (shown: Float64Array): void => {
      text.write(base === 0 ? shown : shown.map((address) => address + base), writeOut, shown);
    };
    if (flags._.length > 0) {
      answer(Float64Array.from(flags._, (text) => parseAddress(String(text))));
    } else answerStdin(answer);
  };
  if (flags.symbols !== undefined) {
    if (flags.section !== undefined) {
      throw new UsageError("--symbols knows no sections, so --section has no place");
    }
    const { BundleFrames } = await import("@perfdata/symbols");
    const frames = new BundleFrames(await bundled(String(flags.symbols), path));
    return answerAll(new Addr2LineText(frames, () => frames, options), 0);
  }
  let faults = 0;
  const diagnostics = (error: DwarfError): void => {
    if (faults++ < 20) console.error(`addr2line: ${path}: ${error.message}`);
  };
  using binary = open(path, diagnostics);
  const text = new Addr2LineText(binary.dwarf, () => binary.readSymbols(), {
    ...options,
    addressDigits: binary.elf.is64 ? 16 : 8,
  });
  let base = 0;
  if (flags.section !== undefined) {
    const section = binary.elf.section(String(flags.section));
    if (section === undefined) throw new Error(`${path}: no section ${flags.section}`);
    base = section.addr;
  }
  answerAll(text, base);
  if (faults > 20) console.error(`addr2line: ${path}: and ${faults - 20} more of this kind`);
}

/** The object of a bundle that a path means: that path, or the only one of that name. */
async function bundled(file: string, path: string): Promise<BundleObject> {
  const { openBundle } = await import("@perfdata/symbols/open-resolver");
  const bundle = explained(file, () => openBundle(file));
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

function open(path: string, diagnostics: (error: DwarfError) => void): OpenedDwarf {
  return explained(path, () => openDwarf(path, { diagnostics }));
}

/** Puts the file before the message of what `action` throws. */
function explained<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error))
      .replace(/ \(os error \d+\).*/s, "");
    const message = reason.startsWith(`${path}: `) ? reason : `${path}: ${reason}`;
    throw new Error(message, { cause: error });
  }
}

/**
 * Answers what lines there are after each read: at once for whoever types or asks one by one. A pipe
 * that is full ends within a line: more is on its way, and many at once are answered faster.
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
    // What is left of a line goes to the front, and gets room for its other end.
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

/** Bytes that a pipe holds, and lines that are kept at most before they are answered. */
const FULL_PIPE = 1 << 16, MANY = 1 << 20;

const granted = Deno.permissions.querySync({ name: "env", variable: "PERFDATA_CWD" }).state;
const cwd = granted === "granted" ? Deno.env.get("PERFDATA_CWD") : undefined;
try {
  if (cwd) Deno.chdir(cwd);
  await run(Deno.args);
} catch (error) {
  if (error instanceof Deno.errors.BrokenPipe) Deno.exit(0);
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof UsageError ? "; see addr2line --help" : "";
  console.error(`addr2line: ${message}${hint}`);
  if (Deno.args.includes("--debug") && error instanceof Error) console.error(error.stack);
  Deno.exit(error instanceof UsageError ? 2 : 1);
}
