/**
 * Programs with stacks that are hard to unwind, recorded by the test, and perf's stacks of them.
 */

import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { type Engine, type EngineOptions, runEngine } from "@perfdata/session";
import { bytesSource, FileAddresses } from "@perfdata/symbols/resolver";
import { ElfFile, readElfSymbols } from "@perfdata/symbols";
import { localResolver } from "@perfdata/symbols/files";

const SOURCES = new URL("./unwound/", import.meta.url).pathname;

/** Exceptions, signals, `alloca`, recursion through `std::function`, the vdso, threads, callbacks. */
export const PROGRAM: string = Deno.readTextFileSync(`${SOURCES}calls.cc`);

/** A way to build a program with stacks that are hard to unwind. */
export interface Flavour {
  /** The special feature of this program. */
  readonly name: string;
  /** The source, a file in `unwound/`. */
  readonly source: string;
  /** Compiler and flags. */
  readonly compiler: readonly string[];
  /** Number of rounds to run. */
  readonly rounds: number;
  /** Whether parts of it have no call frame information, so that all unwinders guess. */
  readonly guesses?: boolean;
  /**
   * Functions with callers on another stack, of which there is no copy: every unwinder stops there.
   */
  readonly switches?: RegExp;
}

const CXX = { source: "calls.cc", rounds: 500 } as const;
const C = { source: "calls.c", rounds: 200, guesses: true } as const;
const RUST = { source: "calls.rs", rounds: 1500 } as const;

/**
 * Functions of Go's runtime that run on a thread's or a signal's stack, or start one (asm_amd64.s,
 * sys_linux_amd64.s).
 */
const GO_SWITCHES =
  /^runtime\.(?:asmcgocall|clone|gogo|mcall|morestack\w*|mstart|nanotime1|sig(?:fwd|return|tramp)\w*|systemstack|vgetrandom1|walltime)(?:\.abi0)?$/;

/** Compilers, optimization levels, ways to link, C libraries and languages. */
export const FLAVOURS: readonly Flavour[] = [
  { name: "gcc -O2", ...CXX, compiler: ["g++", "-O2"] },
  { name: "gcc -O0, frame pointers", ...CXX, compiler: ["g++", "-O0"] },
  { name: "gcc -O1, static PIE", ...CXX, compiler: ["g++", "-O1", "-static-pie"] },
  { name: "gcc -O3, not PIE", ...CXX, compiler: ["g++", "-O3", "-no-pie"] },
  { name: "gcc -O2, static", ...CXX, compiler: ["g++", "-O2", "-static"] },
  { name: "clang -O0, not PIE", ...CXX, compiler: ["clang++", "-O0", "-no-pie"] },
  { name: "clang -O1", ...CXX, compiler: ["clang++", "-O1"] },
  { name: "clang -O2, lld", ...CXX, compiler: ["clang++", "-O2", "-fuse-ld=lld"] },
  {
    name: "clang -O3, frame pointers",
    ...CXX,
    compiler: ["clang++", "-O3", "-fno-omit-frame-pointer"],
  },
  // perf 6.1 on x86-64 unwinds no 32-bit programs, and keeps no copy of their vdso.
  { name: "i386", ...CXX, compiler: ["g++", "-O2", "-m32"] },
  { name: "musl", ...C, compiler: ["musl-gcc", "-O2"] },
  { name: "musl, static", ...C, compiler: ["musl-gcc", "-O2", "-static"] },
  { name: "Rust", ...RUST, compiler: ["rustc", "-O"] },
  { name: "Rust, not optimized", ...RUST, rounds: 300, compiler: ["rustc"] },
  {
    name: "Go",
    source: "calls.go",
    rounds: 2000,
    compiler: ["go", "build"],
    switches: GO_SWITCHES,
  },
];

/**
 * Compiles a program, and records it with copies of its stacks.
 *
 * @returns The recording; `failed` is the reason if there is none.
 */
export async function record(
  { source, compiler, rounds }: Flavour,
  folder: string,
  number: number,
): Promise<{ readonly data: string; readonly program: string; readonly failed?: string }> {
  const program = `${folder}/program${number}`, data = `${folder}/perf${number}.data`;
  const threads = compiler[0] === "go" || compiler[0] === "rustc" ? [] : ["-pthread"];
  const failed = await succeeds(...compiler, ...threads, "-o", program, SOURCES + source) ??
    await succeeds(
      ...["perf", "--buildid-dir", `${folder}/debug`, "record", "-q", "-e", "cpu-clock"],
      ...["-F", "2999", "--call-graph", "dwarf,24576", "-o", data, program, String(rounds)],
    );
  return failed === undefined ? { data, program } : { data, program, failed };
}

/** Runs a program without blocking, and returns its standard error if it failed. */
async function succeeds(...[program = "", ...args]: string[]): Promise<string | undefined> {
  try {
    const { success, stderr } = await new Deno.Command(program, { args, stdout: "null" }).output();
    return success ? undefined : new TextDecoder().decode(stderr).trim().split("\n")[0];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `no ${program} here`;
    throw error;
  }
}

/** Runs a program, and returns its standard error if it failed. */
export function runs(...[program = "", ...args]: string[]): string | undefined {
  try {
    const { success, stderr } = new Deno.Command(program, { args, stdout: "null" }).outputSync();
    return success ? undefined : new TextDecoder().decode(stderr).trim().split("\n")[0];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `no ${program} here`;
    throw error;
  }
}

/**
 * A stack, innermost frame first: `1a2b /path` by offset in the file, `kernel` for kernel frames.
 */
export type PlainStack = readonly string[];

/** Stacks of a recording, by thread and time of the sample. */
export interface RecordedStacks {
  /** The stacks; those with an equal key follow one another. */
  readonly stacks: readonly { readonly key: string; readonly frames: PlainStack }[];
  /** Statistics of unwinding. */
  readonly engine: Engine;
}

/** The stacks of a recording as the engine unwinds them. */
export async function ourStacks(
  path: string,
  buildIdCache: string,
  options: Pick<EngineOptions, "stitchLbr"> = {},
): Promise<RecordedStacks> {
  const resolver = localResolver({ places: { buildIdCache, debugRoot: "/usr/lib/debug" } });
  const reader = await PerfDataReader.open(openSource(path));
  const leaves: { key: string; node: number }[] = [];
  const engine = await runEngine(reader, [{
    needs: { stacks: true },
    rows(run) {
      for (let i = 0; i < run.count; i++) {
        if (run.type[i] !== 9) continue;
        leaves.push({ key: `${run.tid[i]} ${run.time(i)}`, node: run.stack[i] as number });
      }
    },
  }], { ...options, unwind: () => resolver });
  const { places, stacks: { parent, place } } = engine;
  const stacks = leaves.map(({ key, node }) => {
    const frames: string[] = [];
    for (let at = node; at >= 0; at = parent[at] as number) {
      const number = place[at] as number;
      const object = places.object(number);
      const where = object < 0 ? "[unknown]" : places.objects[object]?.path;
      const address = BigInt.asUintN(64, BigInt(places.address(number))).toString(16);
      frames.push(places.cpumode(number) === 1 ? "kernel" : `${address} ${where}`);
    }
    return { key, frames };
  });
  return { stacks, engine };
}

/** Selects the frames of a program in functions with certain names. */
export function framesIn(program: string, names: RegExp): (frame: string) => boolean {
  const path = Deno.realPathSync(program);
  const elf = ElfFile.open(bytesSource(Deno.readFileSync(path)));
  const { table } = readElfSymbols(elf);
  const addresses = new FileAddresses(elf);
  return (frame) => {
    if (!frame.endsWith(` ${path}`)) return false;
    const address = addresses.fromOffset(Number.parseInt(frame, 16));
    const symbol = address === undefined ? -1 : table.lookup(address);
    return symbol >= 0 && names.test(table.name(symbol));
  };
}

/** The stacks in the text of `perf script --no-inline --ns -F tid,time,ip,dso`. */
export function perfStacks(text: string): { key: string; frames: PlainStack }[] {
  return text.split("\n\n").filter((block) => block.trim() !== "").map((block) => {
    const [head = "", ...lines] = block.split("\n").filter((line) => line.trim() !== "");
    const [, tid, seconds, fraction] = /^\s*(\d+)\s+(\d+)\.(\d{9}):/.exec(head) ?? [];
    const frames = lines.map((line) => {
      const [, address = "", where] = /^\s*([0-9a-f]+) \((.*)\)/.exec(line) ?? [];
      return address.length === 16 && address.startsWith("ffff") && address !== END
        ? "kernel"
        : `${address} ${where}`;
    });
    // A return address of 0, which perf shows as the byte before it, is no frame.
    if (frames.at(-1)?.startsWith(END)) frames.pop();
    return { key: `${tid} ${BigInt(seconds ?? 0) * 1000000000n + BigInt(fraction ?? 0)}`, frames };
  });
}

const END = "ffffffffffffffff";

/** The parts of a Firefox Profiler thread that stacks need. */
interface SamplyThread {
  readonly tid: string;
  readonly samples: { readonly stack: readonly (number | null)[] };
  readonly stackTable: { readonly prefix: (number | null)[]; readonly frame: number[] };
  readonly frameTable: { readonly address: number[]; readonly func: number[] };
  readonly funcTable: { readonly resource: number[]; readonly name: number[] };
  readonly resourceTable: { readonly lib: (number | null)[] };
  readonly stringArray: readonly string[];
}

/**
 * The stacks as `samply import --save-only` (framehop) unwinds them: by thread, in order of time,
 * frames as `1a2b name`, by address relative to the library.
 *
 * @returns `undefined` if samply is missing, or the profile is of an unknown kind.
 */
export async function samplyStacks(
  data: string,
  output: string,
): Promise<Map<number, PlainStack[]> | undefined> {
  const args = ["import", "--save-only", "--no-open", "-o", output, data];
  try {
    const { success } = await new Deno.Command("samply", { args, stdout: "null", stderr: "null" })
      .output();
    if (!success) return undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const { libs, threads } = JSON.parse(Deno.readTextFileSync(output)) as {
    libs: { name: string }[];
    threads: SamplyThread[];
  };
  const byThread = new Map<number, PlainStack[]>();
  for (const thread of threads) {
    const { stackTable, frameTable, funcTable, resourceTable, stringArray } = thread;
    const frameText = (frame: number): string => {
      const func = frameTable.func[frame] as number;
      const address = frameTable.address[frame] as number;
      const lib = resourceTable.lib[funcTable.resource[func] as number];
      const name = lib === undefined || lib === null
        ? stringArray[funcTable.name[func] as number]
        : libs[lib]?.name;
      return `${address < 0 ? "?" : address.toString(16)} ${name}`;
    };
    const tid = Number.parseInt(thread.tid);
    const stacks = byThread.get(tid) ?? [];
    byThread.set(tid, stacks);
    for (const leaf of thread.samples.stack) {
      const frames: string[] = [];
      for (let at = leaf; at !== null; at = stackTable.prefix[at] as number | null) {
        frames.push(frameText(stackTable.frame[at] as number));
      }
      stacks.push(frames);
    }
  }
  return byThread;
}

/**
 * A loadable segment of a 64-bit ELF file: offset in the file, size, and address relative to the
 * first one.
 */
interface Loaded {
  readonly offset: number;
  readonly size: number;
  readonly address: number;
}

const loadedOf = new Map<string, Loaded[]>();

function readLoaded(path: string): Loaded[] {
  const bytes = Deno.readFileSync(path);
  const view = new DataView(bytes.buffer);
  const number = (at: number) => Number(view.getBigUint64(at, true));
  const found: Loaded[] = [];
  // ELF64: e_phoff, e_phentsize, e_phnum; PT_LOAD is 1.
  for (
    let i = 0, at = number(32);
    i < view.getUint16(56, true);
    i++, at += view.getUint16(54, true)
  ) {
    if (view.getUint32(at, true) !== 1) continue;
    found.push({ offset: number(at + 8), address: number(at + 16), size: number(at + 32) });
  }
  const [{ address: base = 0 } = {}] = found;
  return found.map((loaded) => ({ ...loaded, address: loaded.address - base }));
}

/**
 * Converts a frame from its offset in the file to samply's form: an address, and the file's name.
 */
export function byAddress(frame: string): string {
  const [, offset = "", path = ""] = /^([0-9a-f]+) (.*)$/.exec(frame) ?? [];
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (!/^\/[^/]/.test(path)) return `${offset} ${name}`;
  let all = loadedOf.get(path);
  if (all === undefined) loadedOf.set(path, all = readLoaded(path));
  const at = Number.parseInt(offset, 16);
  const loaded = all.find(({ offset, size }) => at >= offset && at < offset + size);
  const address = loaded === undefined ? at : at - loaded.offset + loaded.address;
  return `${address.toString(16)} ${name}`;
}
