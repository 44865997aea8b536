/** The targets: entry points of the library, and every tool in this process. */
import { assertEquals } from "@std/assert";
import { bytesSource, streamSource } from "@perfdata/format/bytes";
import { decodeFeature, encodeFeature } from "@perfdata/format/features";
import { KERNEL_RECORDS, PerfDataReader, RecordCodec } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { USER_RECORDS } from "@perfdata/user-records";
import { COMMANDS } from "../../tools/perfdata.ts";
import { tool, type ToolResult } from "../support/tool.ts";
import { isExpected, run } from "./commands.ts";
import { ARCHIVES } from "./kinds/archives.ts";
import { BUNDLES } from "./kinds/bundles.ts";
import { JITDUMPS, PERF_MAPS } from "./kinds/jit.ts";
import { KALLSYMS } from "./kinds/kallsyms.ts";
import type { InputKind, Place, Target } from "./kinds/kind.ts";
import { PROGRAMS } from "./kinds/programs.ts";
import { PROFILES } from "./kinds/profiles.ts";
import { TABLES } from "./kinds/tables.ts";

/**
 * The kinds of inputs besides recordings. Each has its seeds, fields, checksums and targets in its
 * file.
 */
export const KINDS: readonly InputKind[] = [
  ARCHIVES,
  BUNDLES,
  JITDUMPS,
  KALLSYMS,
  PERF_MAPS,
  PROFILES,
  PROGRAMS,
  TABLES,
];

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

/** Arguments of each tool by name; tools without an entry only get the file. */
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
  // The recording itself is used as code for the trace's addresses, whatever its bytes are.
  pt: ({ path, folder }) => [
    ["--symfs", folder, path],
    ["--symfs", folder, "--calls", "--image", `${path}@401000`, path],
    ["--symfs", folder, "--insns", "--image", `${path}@401000,${path}@7f0012741000`, path],
    ["--symfs", folder, "--branches", "--events", "--json", "--image", `${path}@400000`, path],
  ],
  slice: ({ path, folder }) => [["-f", "-o", `${folder}/out.data`, "--time", "10%-50%", path]],
  // A repeated name is wrong usage.
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
  // Without an output it would serve until it is stopped.
  view: ({ path, folder }) => [["--symfs", folder, "-f", "-o", `${folder}/view.html`, path]],
  diff: ({ path, folder }) => [["--symfs", folder, path, path]],
  annotate: ({ path, folder }) => [["--symfs", folder, path, "main"]],
  export: ({ path, folder }) =>
    ["folded", "speedscope", "pprof", "otlp", "firefox", "chrome", "perfetto", "callgrind"].map((
      format,
    ) => [format, "--symfs", folder, "-f", "-o", `${folder}/exported`, path]),
  stat: ({ path, folder }) => [
    [path],
    ["--by", "core", "--json", "-f", "--svg", `${folder}/stat.svg`, path],
  ],
  sched: ({ path }) => [["latency", path], ["latency", "--threads", "--json", path]],
  addr2line: () => [],
  // It reads what perf records.
  top: () => [],
};

/** Tools whose piped output is perf's, or data, in which names are unchanged. */
const AS_THEY_ARE = new Set(["dump", "records", "script", "export", "flame"]);

/** Arguments of each command, by name. */
function callsOf(name: string, place: Place): string[][] {
  return (ARGUMENTS[name] ?? (({ path }) => [[path]]))(place);
}

/** Calls of each command that reads recordings, to check that they succeed. */
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
    ways: callsOf(name, { path: "", folder: "" }).length,
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

/** All targets. */
export function targets(): Target[] {
  return [
    ...[...RECORDING_TARGETS, ...toolTargets()].map((target): Target => (
      { ...target, kind: "recording" }
    )),
    ...KINDS.flatMap(({ kind, targets }) => targets.map((target) => ({ ...target, kind }))),
  ];
}
