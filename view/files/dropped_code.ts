/** Code of dropped programs: a part that is loaded when source, instructions or Intel PT are shown. */
import { armDisassembler, x86Disassembler } from "@perfdata/export/code";
import type { ViewProfile } from "@perfdata/export/tree";
import type { Profile } from "@perfdata/profile";
import { bundledCode } from "@perfdata/pt/decode";
import { type CodeFiles, ObjectCodeReader } from "@perfdata/session/code";
import {
  type CodeMode,
  CodeService,
  type RecordedCode,
  recordedCode,
} from "../recording/code_service.ts";
import { PtService } from "../recording/pt_service.ts";
import {
  type Dropped,
  droppedCode,
  openBundle,
  recordingSource,
  resolverOf,
  sourceLines,
} from "./dropped_files.ts";

/** Creates the service of source and instructions. */
export function codeServiceOf(
  dropped: Dropped,
  profile: Profile,
  view: ViewProfile,
  { engine, resolver }: Pick<RecordedCode, "engine" | "resolver">,
): CodeService {
  const mode = modeOf(engine.reader.arch);
  const from = recordedCode({
    engine,
    resolver,
    code: new ObjectCodeReader(codeFilesOf(dropped)),
    // The page formats instructions on demand, with a library larger than the page.
    disassembler: () =>
      Promise.resolve(mode === "aarch64" ? armDisassembler() : mode && x86Disassembler(mode)),
    mode,
    source: (path) => sourceLines(dropped, path),
  });
  return new CodeService(profile, view, from);
}

export function ptServiceOf(dropped: Dropped): PtService {
  return new PtService({
    source: recordingSource(dropped),
    code: () => ({ files: codeFilesOf(dropped) }),
    resolver: (recorded) => Promise.resolve(resolverOf(dropped, { recorded })),
    // The library that formats instructions is several times as large as the page, so it is left out.
    text: () => Promise.resolve(undefined),
  });
}

/** Returns the code of objects: from a bundle, or from programs. */
function codeFilesOf(dropped: Dropped): CodeFiles {
  const bundle = openBundle(dropped);
  const code = droppedCode(dropped);
  return bundle === undefined ? code : bundledCode(bundle, code);
}

/** Returns the mode of a machine's code; `undefined` for machines whose code is not decoded. */
function modeOf(arch: string | undefined): CodeMode | undefined {
  if (arch === undefined || arch === "x86_64") return 64;
  if (/^(?:aarch64|arm64)$/.test(arch)) return "aarch64";
  return /^i[3-6]86$|^x86$/.test(arch) ? 32 : undefined;
}
