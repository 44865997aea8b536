/** What is tried with an input: entries of the library, and every tool in this process. */
import { assertEquals } from "@std/assert";
import {
  bytesSource,
  decodeFeature,
  encodeFeature,
  KERNEL_RECORDS,
  PerfDataError,
  PerfDataReader,
  RecordCodec,
  streamSource,
} from "@perfdata/format";
import { runEngine } from "@perfdata/session";
import { USER_RECORDS } from "@perfdata/user-records";
import {
  bytesSource as binarySource,
  Demangler,
  ElfFile,
  openJitdump,
  readElfSymbols,
  readKallsyms,
  readPerfMap,
  SymbolBundle,
  SymbolsError,
} from "@perfdata/symbols";
import { JitSymbols } from "@perfdata/symbols/jit";
import { FileAddresses } from "@perfdata/symbols/address-map";
import { DwarfContext, DwarfError, elfDwarfSections } from "@perfdata/symbols/dwarf";
import { OutputError } from "@perfdata/format/file-sink";
import { InputError, UsageError } from "../../tools/_cli.ts";
import { COMMANDS } from "../../tools/perfdata.ts";
import { tool, type ToolResult } from "../support/tool.ts";
import type { Kind } from "./corpus.ts";
import { packSections } from "./packed_sections.ts";
import type { Random } from "./random.ts";

/** Where an input is, and where what is made of it may go. */
export interface Place {
  /** A file with the input. */
  readonly path: string;
  /** A directory for what is written. */
  readonly folder: string;
}

/** Something to try; it throws what is a finding or what {@link isExpected} knows. */
export interface Target {
  readonly name: string;
  readonly kind: Kind;
  run(bytes: Uint8Array<ArrayBuffer>, place: Place, random: Random): Promise<void> | void;
}

/** Errors by which the program says that an input is not what it should be. */
const EXPECTED = [
  PerfDataError,
  SymbolsError,
  DwarfError,
  InputError,
  UsageError,
  OutputError,
  Deno.errors.BrokenPipe,
];

/** Whether an error is an answer, and not a fault of the program. */
export function isExpected(error: unknown): boolean {
  return EXPECTED.some((known) => error instanceof known);
}

const codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);

async function everyRecord(reader: PerfDataReader): Promise<void> {
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      const bytes = batch.recordBytes(i);
      const context = batch.context(i);
      assertEquals(codec.encode(codec.decode(bytes, context), context), bytes);
    }
    if (batch.payload !== undefined) await batch.payload.read(new Uint8Array(64));
  }
}

const tolerant = { diagnostics: () => {} };

const RECORDING_TARGETS: readonly Omit<Target, "kind">[] = [
  {
    name: "strict reader",
    run: async (bytes) => await everyRecord(await PerfDataReader.open(bytesSource(bytes))),
  },
  {
    name: "records",
    run: async (bytes) =>
      await everyRecord(await PerfDataReader.open(bytesSource(bytes), tolerant)),
  },
  {
    name: "records of a stream",
    async run(bytes, _, random) {
      let at = 0;
      const source = streamSource(
        new ReadableStream({
          pull(controller) {
            if (at >= bytes.length) return controller.close();
            controller.enqueue(bytes.subarray(at, at += 1 + random.below(1 << 14)));
          },
        }),
      );
      await everyRecord(await PerfDataReader.open(source, tolerant));
    },
  },
  {
    name: "features",
    async run(bytes) {
      const reader = await PerfDataReader.open(bytesSource(bytes), tolerant);
      const { littleEndian } = reader;
      for (const { id, section } of reader.features) {
        let data: Uint8Array;
        try {
          data = await reader.readSection(Number(section.offset), Number(section.size), "feature");
        } catch (error) {
          if (!isExpected(error)) throw error;
          continue;
        }
        const feature = decodeFeature(id, data, { littleEndian });
        assertEquals(encodeFeature(feature, { littleEndian }), data);
      }
    },
  },
  {
    name: "layout",
    async run(bytes) {
      const reader = await PerfDataReader.open(bytesSource(bytes), tolerant);
      let end = 0;
      for (const { offset, size } of reader.layout.regions) {
        assertEquals(offset, end);
        end += size;
      }
      assertEquals(end, bytes.length);
    },
  },
  {
    name: "engine",
    async run(bytes) {
      const reader = await PerfDataReader.open(bytesSource(bytes), tolerant);
      let rows = 0;
      await runEngine(reader, [{
        needs: { machine: true, places: true, stacks: true, branches: true },
        rows: (run) => void (rows += run.count),
      }], tolerant);
    },
  },
];

/** Arguments that a tool is tried with, by its name; those without an entry get the file alone. */
const ARGUMENTS: Readonly<Record<string, (place: Place) => string[][]>> = {
  dump: ({ path }) => [[path], ["--no-hex", "--limit", "10", path], ["--order", "time", path]],
  records: ({ path }) => [[path], ["--csv", path], ["--order", "time", path]],
  hex: ({ path }) => [[path], ["--json", path], ["--section", "features", path]],
  funcs: ({ path, folder }) => [
    ["--symfs", folder, path],
    ["--symfs", folder, "--children", path],
    ["--symfs", folder, "--csv", "--sort", "pid,comm,dso,sym", path],
  ],
  rate: ({ path, folder }) => [
    [path],
    ["--json", "--by", "thread", path],
    ["-f", "--svg", `${folder}/rate.svg`, path],
  ],
  readperf: ({ path, folder }) => [["-f", "-o", folder, "--symfs", folder, path]],
  "extract-pt": ({ path, folder }) => [
    ["--list", path],
    ["-f", "--all-aux", "-o", folder, path],
    ["-f", "--all-aux", "--raw", "-o", folder, path],
  ],
  symbols: ({ path, folder }) => [
    ["trust", "--symfs", folder, path],
    ["bundle", "-f", "-o", `${folder}/perf.symbols`, "--symfs", folder, path],
    ["bundle", "--code", "-f", "-o", `${folder}/perf.symbols`, "--symfs", folder, path],
  ],
  // The recording itself is the code at addresses that its trace has: whatever its bytes are.
  pt: ({ path, folder }) => [
    ["--symfs", folder, path],
    ["--symfs", folder, "--calls", "--image", `${path}@401000`, path],
    ["--symfs", folder, "--insns", "--image", `${path}@401000,${path}@7f0012741000`, path],
    ["--symfs", folder, "--branches", "--events", "--json", "--image", `${path}@400000`, path],
  ],
  slice: ({ path, folder }) => [["-f", "-o", `${folder}/out.data`, "--time", "10%-50%", path]],
  // A name that is given twice is wrong usage.
  merge: ({ path, folder }) => [
    ["-f", "-o", `${folder}/out.data`, path, path.replace(/[^/]*$/, "./$&")],
  ],
  convert: ({ path, folder }) => [
    ["-f", "-o", `${folder}/out.data`, path],
    ["-f", "-o", `${folder}/out.data`, "--pipe", "--compress", path],
    ["-f", "-o", `${folder}/out.data`, "--byte-order", "big", path],
    ["-f", "-o", `${folder}/out.data`, "--spe", path],
  ],
  repair: ({ path, folder }) => [["-f", "-o", `${folder}/out.data`, path]],
  redact: ({ path, folder }) => [["-f", "-o", `${folder}/out.data`, path]],
  tree: ({ path, folder }) => [
    ["--symfs", folder, path],
    ["--symfs", folder, "--callers", "--json", path],
  ],
  script: ({ path, folder }) => [["--symfs", folder, path]],
  flame: ({ path, folder }) => [["--symfs", folder, "-f", "-o", `${folder}/flame.html`, path]],
  // Without an output it serves until it is ended.
  view: ({ path, folder }) => [["--symfs", folder, "-f", "-o", `${folder}/view.html`, path]],
  diff: ({ path, folder }) => [["--symfs", folder, path, path]],
  annotate: ({ path, folder }) => [["--symfs", folder, path, "main"]],
  export: ({ path, folder }) =>
    ["folded", "speedscope", "pprof", "firefox", "chrome", "perfetto", "callgrind"].map((
      format,
    ) => [format, "--symfs", folder, "-f", "-o", `${folder}/exported`, path]),
  stat: ({ path, folder }) => [
    [path],
    ["--by", "core", "--json", "-f", "--svg", `${folder}/stat.svg`, path],
  ],
  sched: ({ path }) => [["latency", path], ["latency", "--threads", "--json", path]],
  addr2line: () => [],
};

/** Tools whose output on a pipe is that of perf, or data: names are in it as they are. */
const AS_THEY_ARE = new Set(["dump", "records", "script", "export", "flame"]);

/** Most that a tool writes before the fuzzer closes the pipe. */
const MOST_OUTPUT = 1 << 25;

/** Arguments by which each command is called, by its name. */
function callsOf(name: string, place: Place): string[][] {
  return (ARGUMENTS[name] ?? (({ path }) => [[path]]))(place);
}

/** Runs a command on an input: the errors that it throws are the target's. */
async function run(name: string, args: readonly string[], input?: Uint8Array): Promise<ToolResult> {
  const result = await tool(name, args, { input, most: MOST_OUTPUT });
  if (result.thrown !== undefined) throw result.thrown;
  return result;
}

/** How each command that reads recordings is called, to see that the calls are right. */
export function toolCalls(
  place: Place,
): { name: string; args: string[]; run: () => Promise<ToolResult> }[] {
  return [...COMMANDS.values()].flat().flatMap(({ name }) =>
    callsOf(name, place).map((args) => ({ name, args, run: () => tool(name, args) }))
  );
}

function toolTargets(): Omit<Target, "kind">[] {
  return [...COMMANDS.values()].flat().map(({ name }) => ({
    name,
    async run(_, place, random) {
      const found = callsOf(name, place);
      if (found.length === 0) return;
      const args = random.pick(found);
      const { code, out } = await run(name, args);
      if (![0, 1, 2].includes(code)) throw new Error(`exit code ${code}`);
      const data = AS_THEY_ARE.has(name) || args.some((arg) => /^--(?:csv|json)$/.test(arg));
      if (!data && CONTROLS.test(out)) throw new Error("a control character in the output");
    },
  }));
}

// deno-lint-ignore no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]/;

const ADDRESSES = Float64Array.from({ length: 64 }, (_, i) => 0x1000 + 8 * i);

const SYMBOL_TARGETS: readonly Target[] = [
  {
    name: "elf",
    kind: "elf",
    run(bytes) {
      const elf = ElfFile.open(binarySource(bytes), { maxDecompressedSize: 1 << 24 });
      const steps = [
        () => elf.buildId(),
        () => elf.debugLink(),
        () => elf.debugAltLink(),
        () => new FileAddresses(elf).fromOffset(0x1000),
        () => {
          const { table } = readElfSymbols(elf);
          const demangler = new Demangler();
          for (let i = 0; i < table.size; i++) demangler.demangle(table.name(i));
        },
      ];
      for (const step of steps) {
        try {
          step();
        } catch (error) {
          if (!isExpected(error)) throw error;
        }
      }
      const dwarf = DwarfContext.open(elfDwarfSections(elf), { diagnostics: () => {} });
      dwarf.findAll(ADDRESSES, { keep: false });
    },
  },
  {
    name: "kallsyms",
    kind: "kallsyms",
    run: (bytes) => void readKallsyms(bytes).table.lookup(0x1000),
  },
  {
    name: "perf map",
    kind: "perf map",
    run: (bytes) => void readPerfMap(bytes).table.lookup(0x7f0000001000),
  },
  {
    name: "jitdump",
    kind: "jitdump",
    run(bytes) {
      const symbols = new JitSymbols(openJitdump(binarySource(bytes)).records());
      const code = symbols.lookup(0x7f0000001008, Infinity);
      if (code !== undefined) symbols.line(code, 0x7f0000001008);
    },
  },
  {
    name: "bundle",
    kind: "bundle",
    run(bytes) {
      for (const object of SymbolBundle.open(bytes).objects) {
        for (const entry of object.entries()) object.find(entry.start);
      }
    },
  },
];

/** The recording beside whose program a damaged file lies. */
const RECORDED = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;

/** Commands that open the files of what was recorded, by their names. */
export const OPENING: readonly (readonly string[])[] = [
  ["funcs", "--sort", "sym,srcline"],
  ["funcs", "--inline", "--children"],
  ["readperf", "-f"],
  ["flame", "-f", "-o", "OUT/flame.html"],
  ["tree", "--inline"],
  ["script"],
  ["annotate", "RECORDING", "main"],
  ["symbols", "trust"],
  ["symbols", "bundle", "-f", "-o", "OUT/perf.symbols"],
  ["export", "pprof", "-f", "-o", "OUT/exported"],
];

/** Runs one of these commands on the recording, with `program` where its program was; its exit code. */
export async function runBeside(
  [name = "", ...rest]: readonly string[],
  program: Uint8Array,
  folder: string,
): Promise<number> {
  const symfs = `${folder}/beside`;
  Deno.mkdirSync(`${symfs}/tmp/demo`, { recursive: true });
  Deno.writeFileSync(`${symfs}/tmp/demo/demo`, program);
  const args = rest.map((arg) => arg.replace("OUT", folder).replace("RECORDING", RECORDED));
  if (!args.includes(RECORDED)) args.push(RECORDED);
  if (name === "readperf") args.unshift("-o", folder);
  // What a command is called by comes first.
  const at = name === "symbols" || name === "export" ? 1 : 0;
  args.splice(at, 0, "--symfs", symfs);
  const { code, err } = await run(name, args);
  if (code === 2) throw new Error(`wrong usage: ${name} ${args.join(" ")}: ${err}`);
  return code;
}

/**
 * Whole commands on a sound recording, with a damaged file where its program was: what they print of it is
 * of no interest, that they end, and answer for the rest, is.
 */
const BESIDE: Target = {
  name: "program beside a recording",
  kind: "elf",
  async run(bytes, { folder }, random) {
    const program = random.below(2) === 0 ? bytes : packSections(bytes, random);
    const code = await runBeside(random.pick(OPENING), program, folder);
    if (![0, 1].includes(code)) throw new Error(`exit code ${code}`);
  },
};

/** All targets. */
export function targets(): Target[] {
  const recording = [...RECORDING_TARGETS, ...toolTargets()];
  return [
    ...recording.map((target): Target => ({ ...target, kind: "recording" })),
    ...SYMBOL_TARGETS,
    BESIDE,
  ];
}
