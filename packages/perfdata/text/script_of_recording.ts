import {
  type ScriptHost,
  writeScript,
  type WriteScriptOptions,
  type WrittenScript,
} from "@perfdata/export/script";
import type { TextHost } from "./text_host.ts";

/** Fields and selection of {@linkcode Recording.script}. */
export interface SampleTextOptions extends Omit<WriteScriptOptions, "progress" | "diagnostics"> {
  /** Opens the code for fields such as `brstackinsn`. */
  readonly code?: ScriptHost["code"];
  /** Path of the file, which other threads open; by default the name of the recording. */
  readonly path?: string;
}

/** Writes the text of `perf script`. */
export async function sampleText(
  host: TextHost,
  { code, path = host.path, ...options }: SampleTextOptions,
): Promise<WrittenScript> {
  const { reader, write, progress, diagnostics, textThreads } = host;
  const threads = textThreads?.("script", reader);
  return await writeScript(
    reader,
    write,
    { ...options, progress, diagnostics },
    { symbols: ({ recorded }, lines) => host.symbols({ machine: recorded, lines }), code },
    threads && { ...threads, path },
  );
}
