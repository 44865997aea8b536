/** Runs `symbols`. */
import { Demangler, entryJson, entryText, type SymbolResolver } from "@perfdata/symbols";
import {
  FETCH,
  refusedLines,
  shareText,
  trustJson,
  trustText,
  type TrustTextOptions,
  unwoundStacks,
  unwoundTable,
} from "@perfdata/profile";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { bundleSymbols } from "@perfdata/session/symbols";
import { type RecordedAddresses, recordedAddresses } from "@perfdata/session/code";
import { type SymbolTrust, symbolTrust } from "@perfdata/session";
import type { RecordedMachine } from "@perfdata/symbols/resolver";
import { BundleError, openBundle } from "@perfdata/symbols/files";
import {
  about,
  aboutAsync,
  complain,
  complainAll,
  Complaints,
  giveUpWriting,
  InputError,
  listed,
  oneFile,
  openOutput,
  Progress,
  quoted,
  UsageError,
  writeLine,
  writeOut,
} from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { resolverOf } from "../shared/symbol_flags.ts";
import { isRecording, notBundle } from "../shared/not_bundle.ts";
import type { FLAGS } from "../symbols.ts";

type SymbolsFlags = FlagsOf<typeof FLAGS>;

interface Addresses {
  readonly recorded: RecordedAddresses;
  readonly resolver: SymbolResolver;
  readonly damaged: boolean;
}

/** Rates how trustworthy the names are, with a progress line. */
async function trustOf(
  recorded: RecordedAddresses,
  resolver: SymbolResolver,
): Promise<SymbolTrust> {
  const progress = new Progress("symbols", undefined);
  try {
    return await symbolTrust(recorded, resolver, undefined, progress.names);
  } finally {
    progress.finish();
  }
}

/** Reads the addresses of a recording's samples. */
async function addressesOf(file: string, flags: SymbolsFlags): Promise<Addresses> {
  const complaints = new Complaints(`symbols: ${file}`);
  let resolver: Promise<SymbolResolver> | undefined;
  const resolverFor = (machine: RecordedMachine) =>
    resolver ??= resolverOf(flags, file, { machine });
  const source = about(file, () => openSource(file, { interruptible: true }));
  const recorded = await aboutAsync(file, async () => {
    const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
    const progress = new Progress("symbols", reader.fileSize);
    try {
      return await recordedAddresses(reader, {
        unwind: ({ recorded }) => resolverFor(recorded),
        progress: progress.add,
      });
    } finally {
      progress.finish();
    }
  });
  complaints.finish();
  if (recorded.damaged > 0) {
    complain(`symbols: ${file}: ${recorded.damaged} samples are damaged and were left out`);
  }
  const damaged = complaints.count > 0 || recorded.damaged > 0;
  return { recorded, resolver: await resolverFor(recorded), damaged };
}

const hasData = (path: string): boolean =>
  [...Deno.readDirSync(path)].some(({ name }) => name === "data");

/** Reports that shares are by samples if there are several events. */
function reportMixed(file: string, { events }: RecordedAddresses): void {
  if (events < 2) return;
  complain(
    `symbols: ${file}: samples are of ${events} events, whose periods have no common unit: ` +
      "shares are of samples",
  );
}

/** Options for printing the ratings of a recording. */
function shownAs(file: string, { events }: RecordedAddresses): TrustTextOptions {
  const word = /^[\w./@%+=:,-]+$/.test(file) ? file : quoted(file);
  return { fetch: file === "-" ? FETCH : `${FETCH} ${word}`, hasPeriods: events < 2 };
}

/**
 * Separates files from the value of `--source`: in `--source perf.data` the flag has no value, and
 * `perf.data` is the recording.
 *
 * @returns The files, and the folder: `""` for the files' own paths.
 */
function filesAndSource(
  files: readonly string[],
  source: string | undefined,
): [files: readonly string[], source: string | undefined] {
  if (source === undefined || source === "" || files.length > 0) return [files, source];
  const isFile = source === "-" ||
    (isRecording(source) && (!Deno.statSync(source).isDirectory || hasData(source)));
  return isFile ? [[source], ""] : [files, source];
}

async function bundle(file: string, flags: SymbolsFlags): Promise<number> {
  const output = flags.value.output ?? "perf.symbols";
  using target = output === "-" ? undefined : openOutput(output, flags.on.force);
  const { recorded, resolver, damaged } = await addressesOf(file, flags);
  const { source } = flags.value;
  const isWithCode = flags.on.code || source !== undefined;
  const code = isWithCode ? await import("../shared/code_bundle.ts") : undefined;
  const progress = new Progress("symbols", undefined);
  const { bytes, trust } = await bundleSymbols(
    recorded,
    resolver,
    code &&
      ((writer) => code.bundleCode({ name: file, flags, source, recorded, resolver }, writer)),
    progress.names,
  );
  progress.finish();
  complainAll("symbols", refusedLines(trust));
  const stacks = unwoundStacks(recorded);
  if (target === undefined) {
    writeOut(bytes);
  } else {
    reportMixed(file, recorded);
    target.write(bytes);
    about(output, () => target.commit());
    writeOut(
      flags.on.json
        ? trustJson(trust, stacks, recorded.events < 2)
        : `${output}: ${bytes.length} bytes\n\n${trustText(trust, shownAs(file, recorded))}${
          unwoundTable(stacks)
        }`,
    );
  }
  return damaged ? 1 : 0;
}

async function trust(file: string, flags: SymbolsFlags): Promise<number> {
  giveUpWriting(flags.value.temp);
  const { recorded, resolver, damaged } = await addressesOf(file, flags);
  const found = await trustOf(recorded, resolver);
  complainAll("symbols", refusedLines(found));
  reportMixed(file, recorded);
  const stacks = unwoundStacks(recorded);
  writeOut(
    flags.on.json
      ? trustJson(found, stacks, recorded.events < 2)
      : trustText(found, shownAs(file, recorded)) + unwoundTable(stacks),
  );
  return damaged ? 1 : 0;
}

/** Downloads debug files that would give more names. */
async function fetchMissing(file: string, flags: SymbolsFlags): Promise<number> {
  const { downloadMissing, missingFiles, serversOf } = await import("../shared/debuginfod_job.ts");
  const { state } = Deno.permissions.querySync({ name: "env", variable: "DEBUGINFOD_URLS" });
  if (state !== "granted") {
    throw new InputError(
      "DEBUGINFOD_URLS may not be read: install perfdata with --allow-env=...,DEBUGINFOD_URLS",
    );
  }
  const urls = serversOf(Deno.env.get("DEBUGINFOD_URLS"));
  const { recorded, resolver, damaged } = await addressesOf(file, flags);
  const before = await trustOf(recorded, resolver);
  const wanted = missingFiles(before, flags.on.lines);
  const { came, failed } = wanted.length === 0
    ? { came: 0, failed: 0 }
    : await downloadMissing(urls, wanted);
  const after = came === 0 ? before : await trustOf(recorded, resolver);
  const share = ({ all, resolved }: SymbolTrust) => shareText(resolved.samples, all.samples);
  writeLine(
    wanted.length === 0
      ? "nothing is missing that has a build id"
      : `${came} files came; ${share(after)} of samples have a function, before ${share(before)}`,
  );
  return damaged || failed > 0 ? 1 : 0;
}

/** Lists a bundle: a line for each object, then a line for each frame. */
function show(file: string, flags: SymbolsFlags): number {
  giveUpWriting();
  const bundle = about(file, () => {
    try {
      return openBundle(file);
    } catch (error) {
      throw error instanceof BundleError ? notBundle(file, error) : error;
    }
  });
  const demangler = new Demangler();
  const shown = (name: string): string => flags.on["no-demangle"] ? name : demangler.demangle(name);
  for (const object of bundle.objects) {
    const { path, kind, buildId, origin, reference } = object.info;
    if (!flags.on.json) {
      const from = origin === undefined ? "" : ` from ${origin}`;
      const base = reference === undefined ? "" : ` relative to ${reference}`;
      const line = `${kind} ${path} ${buildId ?? "-"}${base}: ${object.size} ranges${from}`;
      writeLine(line);
    }
    let text = "";
    for (const entry of object.entries()) {
      text += flags.on.json
        ? `${
          JSON.stringify({
            path,
            kind,
            build_id: buildId ?? null,
            ...entryJson(entry, shown),
          })
        }\n`
        : entryText(entry, shown);
      if (text.length > 1 << 16) {
        writeOut(text);
        text = "";
      }
    }
    writeOut(text);
  }
  return 0;
}

/** Adds function names to the frames of tables. */
async function table(folder: string, flags: SymbolsFlags): Promise<number> {
  const { symbolsTable } = await import("../shared/symbols_table.ts");
  return await symbolsTable(folder, { flags, output: flags.value.output, force: flags.on.force });
}

const JOBS = new Map<string, (file: string, flags: SymbolsFlags) => number | Promise<number>>([
  ["bundle", bundle],
  ["trust", trust],
  ["fetch", fetchMissing],
  ["table", table],
  ["show", show],
]);

export async function run(flags: SymbolsFlags): Promise<number> {
  const [verb, ...files] = flags.operands;
  if (verb === undefined) throw new UsageError("expected bundle, trust, fetch, table or show");
  const job = JOBS.get(verb);
  if (job === undefined) {
    throw new UsageError(`unknown command ${verb}, expected ${listed([...JOBS.keys()])}`, {
      word: verb,
      known: [...JOBS.keys()],
    });
  }
  if (verb !== "fetch") Deno.permissions.revokeSync({ name: "run", command: "/bin/sh" });
  if (verb === "show" && files.length === 0) throw new UsageError("show: no bundle is given");
  if (verb === "table" && files.length === 0) throw new UsageError("table: no tables are given");
  const [named, source] = filesAndSource(files, flags.value.source);
  return await job(oneFile(named), { ...flags, value: { ...flags.value, source } });
}
