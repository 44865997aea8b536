import type { RandomAccessSource } from "@perfdata/format/bytes";
import { type OpenPtOptions, PtTrace } from "@perfdata/pt/decode";
import { openCodeFile } from "@perfdata/symbols";
import { defaultPlaces, localFiles } from "@perfdata/symbols/files";

/** Opens a trace with code from files of this machine. */
export async function localTrace(
  source: RandomAccessSource,
  diagnostics?: OpenPtOptions["diagnostics"],
): Promise<PtTrace> {
  const files = {
    open: (object: Parameters<typeof openCodeFile>[1]) =>
      openCodeFile(localFiles, object, defaultPlaces()),
    file: (path: string) => localFiles.open(path),
  };
  return await PtTrace.open(source, { diagnostics, code: () => ({ files }) });
}
