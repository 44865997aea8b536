/**
 * Sample program of a user: decodes the executed functions of a trace from the recording and a
 * bundle. Runs in Node and browsers (see npm_test.ts).
 */
import { blobSource } from "@perfdata/format/bytes";
import { bundledCode, decodePt, PtCalls, PtNames, PtTrace } from "@perfdata/pt/decode";
import { SymbolBundle, SymbolResolver } from "@perfdata/symbols";

/** Result of {@link decode}. */
export interface Decoded {
  /** Number of executed instructions. */
  readonly insns: number;
  /** Instructions and calls of each function. */
  readonly functions: readonly (readonly [name: string, insns: number, calls: number])[];
  /** Number of decoder errors. */
  readonly errors: number;
}

/** Decodes the Intel PT of a recording; code and names come from the bundle. */
export async function decode(recording: Blob, bundleBytes: Uint8Array): Promise<Decoded> {
  const source = blobSource(recording);
  const bundle = SymbolBundle.open(bundleBytes);
  const trace = await PtTrace.open(source, { code: () => ({ files: bundledCode(bundle) }) });
  const calls = new PtCalls(trace);
  const { errors } = await decodePt(trace, calls);
  calls.finish();
  const noFiles = { open: () => undefined, read: () => undefined };
  const names = new PtNames(trace.code, new SymbolResolver(noFiles, { bundle }));
  await names.resolve();
  const functions = new Map<string, [string, number, number]>();
  for (const [place, name] of names.names.entries()) {
    let row = functions.get(name);
    if (row === undefined) functions.set(name, row = [name, 0, 0]);
    row[1] += calls.sums.insnsOf[place] ?? 0;
    row[2] += calls.latency.of(place)?.calls ?? 0;
  }
  return {
    insns: calls.sums.insns,
    functions: [...functions.values()].sort(([a], [b]) => a < b ? -1 : 1),
    errors: errors.reduce((sum, n) => sum + n, 0),
  };
}
