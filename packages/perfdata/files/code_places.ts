import { bundledCode, type TraceCode } from "@perfdata/pt/decode";
import { type CodeFiles, type MemoryImage, memoryImages } from "@perfdata/session/code";
import { openCodeFile, type SymbolBundle, type SymbolFiles } from "@perfdata/symbols";
import type { RecordedMachine, SearchPlaces } from "@perfdata/symbols/resolver";

/** The copy of the kernel's memory in a directory of `perf record --kcore`. */
const KCORE = "kcore_dir/kcore";

/** Places of code. */
export interface CodePlaces {
  /** The files. */
  readonly files: SymbolFiles;
  /** Where they are searched. */
  readonly places?: SearchPlaces | undefined;
  /** A bundle that is searched first. */
  readonly bundle: SymbolBundle | undefined;
  /** The directory of the recording, which may have a copy of the kernel's memory. */
  readonly folder?: string | undefined;
}

/** The code of a recorded machine: binaries, the bundle, and copies of the kernel's memory. */
export function codeIn(
  { arch, release }: RecordedMachine,
  { files, places = {}, bundle, folder }: CodePlaces,
): TraceCode {
  const local: CodeFiles = {
    open: (object) => openCodeFile(files, object, { ...places, arch, release }),
    file: (path) => files.open(path),
  };
  const all = bundle === undefined ? local : bundledCode(bundle, local);
  const images: MemoryImage[] = [];
  for (
    const copy of [
      folder === undefined ? undefined : files.open(`${folder}/${KCORE}`),
      bundle === undefined ? undefined : all.file(KCORE),
    ]
  ) {
    if (copy !== undefined) images.push(...memoryImages(copy));
  }
  return { files: all, images };
}
