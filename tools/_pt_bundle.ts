/** `symbols bundle --code`: the code that the Intel PT of a recording ran through, and its symbols. */
import { bundlePlaces, CodeRecorder, PtCode } from "@perfdata/pt/code";
import { decodePt, PtClock } from "@perfdata/pt/decode";
import { lossText, PtList } from "@perfdata/pt/lists";
import type { SymbolBundleWriter, SymbolResolver } from "@perfdata/symbols";
import { complain, type Flags, Progress } from "./_cli.ts";
import { codeFiles, imagesOf, openPt } from "./_pt.ts";

/** Adds code and symbols to a bundle. */
export async function bundleCode(
  name: string,
  flags: Flags<never, "symfs" | "vmlinux">,
  resolver: SymbolResolver,
  writer: SymbolBundleWriter,
): Promise<void> {
  const { trace, source, sideband } = await openPt("symbols", name);
  const files = new CodeRecorder(await codeFiles(sideband.recorded, flags.value));
  const code = new PtCode(sideband, files, imagesOf(undefined, name, files));
  const clock = new PtClock(trace);
  const list: PtList = new PtList(code, clock, {
    insns: true,
    branches: true,
    events: true,
    idle: () => list.rows.clear(),
  });
  const progress = new Progress(
    "symbols",
    trace.streams.reduce((sum, { pieces }) => sum + pieces.reduce((n, p) => n + p.size, 0), 0),
  );
  const counts = await decodePt(trace, source, sideband, code, list, { progress: progress.add });
  progress.finish();
  const places = await bundlePlaces(code, resolver, writer);
  let bytes = 0;
  for (const file of files.bundled()) {
    writer.addCode(file);
    for (const part of file.parts) bytes += part.bytes.length;
  }
  complain(`symbols: ${name}: code of ${places} instructions, ${bytes} bytes`);
  const loss = lossText(counts);
  if (loss !== undefined) complain(`symbols: ${name}: ${loss}`);
}
