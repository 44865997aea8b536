/**
 * `symbols bundle --code`: adds the code of sampled functions and of Intel PT traces to a bundle,
 * with its symbols.
 */
import { bundleFunctions, keptLines } from "@perfdata/export/code";
import { bundlePlaces, CodeRecorder, decodePt, lossText, PtList } from "@perfdata/pt/decode";
import { ObjectCodeReader, type RecordedAddresses } from "@perfdata/session/code";
import type { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import type { SymbolResolver } from "@perfdata/symbols";
import { complain, Progress } from "./cli.ts";
import type { Flags } from "./flag_table.ts";
import { hasIntelPt } from "./open_profile.ts";
import { disassembler } from "./disassembler.ts";
import { codeFiles, imagesOf, openPt } from "./pt_input.ts";
import { Sources } from "./source_lines.ts";

/** The inputs of {@link bundleCode}. */
export interface CodeToBundle {
  /** The recording's path. */
  readonly name: string;
  /** Flags that locate code files. */
  readonly flags: Flags<never, "symfs" | "vmlinux">;
  /** The folder of source files: `""` for their own paths, `undefined` to omit source text. */
  readonly source: string | undefined;
  readonly recorded: RecordedAddresses;
  readonly resolver: SymbolResolver;
}

/** Adds code to a bundle, with symbols and lines of its instructions. */
export async function bundleCode(what: CodeToBundle, writer: SymbolBundleWriter): Promise<void> {
  const { name, flags, recorded } = what;
  const files = new CodeRecorder(await codeFiles(recorded, flags.value));
  const lines = await addFunctions(what, files, writer);
  if (name !== "-" && await hasIntelPt(name)) await addTrace(what, files, writer);
  let bytes = 0;
  for (const file of files.bundled()) {
    writer.addCode(file);
    for (const part of file.parts) bytes += part.bytes.length;
  }
  complain(`symbols: ${name}: ${bytes} bytes of code`);
  if (what.source !== undefined) addSources(name, what.source, lines, writer);
}

/** Adds the code of sampled functions. Returns their source lines. */
async function addFunctions(
  { name, recorded, resolver }: CodeToBundle,
  files: CodeRecorder,
  writer: SymbolBundleWriter,
): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const decode = await disassembler("symbols", recorded.arch, false);
  if (decode === undefined) {
    complain(`symbols: ${name}: no code of sampled functions: ${recorded.arch} is not decoded`);
    return new Map();
  }
  const code = new ObjectCodeReader(files, imagesOf(undefined, name, files));
  const reading = { resolver, code, disassembler: decode };
  const { functions, missing, lines } = await bundleFunctions(recorded, reading, writer);
  const without = [...missing.values()].reduce((sum, count) => sum + count, 0);
  complain(`symbols: ${name}: code of ${functions} of ${functions + without} sampled functions`);
  const [first, ...others] = [...missing].sort(([, a], [, b]) => b - a);
  if (first !== undefined) {
    const more = others.length > 0 ? `; and ${others.length} more reasons` : "";
    complain(`symbols: ${name}: no code of ${first[1]} functions: ${first[0]}${more}`);
  }
  return lines;
}

/** Adds the code that the Intel PT trace executed, and symbols of its instructions. */
async function addTrace(
  { name, resolver }: CodeToBundle,
  files: CodeRecorder,
  writer: SymbolBundleWriter,
): Promise<void> {
  const images = imagesOf(undefined, name, files);
  const { trace } = await openPt("symbols", name, { code: () => ({ files, images }) });
  const list: PtList = new PtList(trace, {
    insns: true,
    branches: true,
    events: true,
    idle: () => list.rows.clear(),
  });
  const progress = new Progress("symbols", trace.bytes);
  const counts = await decodePt(trace, list, { progress: progress.add });
  progress.finish();
  const places = await bundlePlaces(trace.code, resolver, writer);
  complain(`symbols: ${name}: code of ${places} instructions of the trace`);
  const loss = lossText(counts);
  if (loss !== undefined) complain(`symbols: ${name}: ${loss}`);
}

function addSources(
  name: string,
  folder: string,
  lines: ReadonlyMap<string, ReadonlySet<number>>,
  writer: SymbolBundleWriter,
): void {
  const sources = new Sources(folder === "" ? undefined : folder);
  const encoder = new TextEncoder();
  for (const [path, kept] of lines) {
    const text = sources.text(path);
    if (text === undefined) continue;
    const bytes = encoder.encode(keptLines(text, kept));
    writer.addCode({ path, buildId: "", size: bytes.length, parts: [{ offset: 0, bytes }] });
  }
  const [absent, ...others] = sources.absent();
  const found = lines.size - sources.absent().length;
  const more = others.length > 0 ? ` and ${others.length} more` : "";
  complain(
    `symbols: ${name}: lines of ${found} of ${lines.size} source files` +
      (absent === undefined ? "" : `; not found: ${absent}${more}`),
  );
}
