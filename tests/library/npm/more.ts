/** Sample program of a user: headers, merging, and C++ names from DWARF. */
import { headerLines } from "@perfdata/dump";
import { FileOutput } from "@perfdata/edit";
import { mergeRecordings } from "@perfdata/edit/slice";
import { blobSource, memorySink } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { bytesSource } from "@perfdata/symbols/resolver";
import { SymbolResolver } from "@perfdata/symbols";

/** Result of {@link more}. */
export interface More {
  /** Lines of the recording's header. */
  readonly header: readonly string[];
  /** Number of records after merging the recording with itself. */
  readonly merged: number;
  /** Functions and lines at addresses of the binary. */
  readonly names: readonly string[];
}

/**
 * Reads the header of a recording, merges the recording with itself, and names addresses of a
 * binary.
 */
export async function more(
  recording: Blob,
  binary: Uint8Array,
  addresses: readonly number[],
): Promise<More> {
  const header: string[] = [];
  for await (const line of headerLines(await open(recording))) header.push(line);
  const sink = memorySink();
  const inputs = [
    { name: "a", reader: await open(recording) },
    { name: "b", reader: await open(recording) },
  ];
  await mergeRecordings(inputs, new FileOutput(sink));
  let merged = 0;
  const both = await open(new Blob([Uint8Array.from(sink.bytes())]));
  await runEngine(both, [{ needs: {}, rows: ({ count }) => void (merged += count) }]);
  const resolver = new SymbolResolver({ open: () => bytesSource(binary), read: () => undefined });
  const symbols = await resolver.open({ kind: "elf", path: "/program" });
  const found = await symbols.find(Float64Array.from(addresses));
  const names = found.map(({ frames }) =>
    frames.map(({ name, file, line }) => `${name} ${file?.replace(/^.*\//, "")}:${line}`).join(", ")
  );
  return { header, merged, names };
}

function open(recording: Blob): Promise<PerfDataReader> {
  return PerfDataReader.open(blobSource(recording));
}
