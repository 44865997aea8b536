/**
 * Sample program of a user. Runs in Deno, Node and browsers, from the sources and from the tarballs
 * (see npm_test.ts).
 */
import { blobSource, memorySink } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { copyAuxStream, readAuxTrace } from "@perfdata/session/auxtrace";
import { runEngine } from "@perfdata/session";
import { bytesSource } from "@perfdata/symbols/resolver";
import { SymbolResolver } from "@perfdata/symbols";

/** Result of {@link summary}. */
export interface Summary {
  /** Functions of the binary and their samples, most first. */
  readonly functions: readonly (readonly [name: string, samples: number])[];
  /** AUX buffers: the CPU or thread of each, and its size in bytes. */
  readonly buffers: readonly (readonly [cpu: number | undefined, bytes: number])[];
  /** A checksum of the Intel PT data of each buffer. */
  readonly checksums: readonly number[];
}

/**
 * Counts the samples of a binary's functions in one recording, and reads the AUX data of another.
 */
export async function summary(
  recording: Blob,
  traced: Blob,
  binary: Uint8Array,
): Promise<Summary> {
  return {
    functions: await countFunctions(recording, binary),
    ...await extract(traced),
  };
}

async function countFunctions(recording: Blob, binary: Uint8Array): Promise<[string, number][]> {
  const reader = await PerfDataReader.open(blobSource(recording));
  const samples = new Map<number, number>();
  const { places } = await runEngine(reader, [{
    needs: { places: true },
    rows({ count, type, place }) {
      for (let i = 0; i < count; i++) {
        const at = place[i] as number;
        if (type[i] === PERF_RECORD_SAMPLE) samples.set(at, (samples.get(at) ?? 0) + 1);
      }
    },
  }]);
  // The files of the recorded machine, here only the binary.
  const resolver = new SymbolResolver({
    open: (path) => path.endsWith("/demo") ? bytesSource(binary) : undefined,
    read: () => undefined,
  });
  const functions = new Map<string, number>();
  for (const [number, object] of places.objects.entries()) {
    if (!object.path.endsWith("/demo")) continue;
    const own = [...samples.keys()].filter((place) =>
      place >= 0 && places.object(place) === number
    );
    const symbols = await resolver.open(object);
    const found = await symbols.find(Float64Array.from(own, (place) => places.address(place)));
    own.forEach((place, i) => {
      const name = found[i]?.frames[0]?.name ?? "[unknown]";
      functions.set(name, (functions.get(name) ?? 0) + (samples.get(place) ?? 0));
    });
  }
  return [...functions].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}

async function extract(traced: Blob): Promise<Pick<Summary, "buffers" | "checksums">> {
  const source = blobSource(traced);
  const { streams } = await readAuxTrace(await PerfDataReader.open(source));
  const buffers: [number | undefined, number][] = [];
  const checksums: number[] = [];
  for (const stream of streams) {
    const sink = memorySink();
    await copyAuxStream(stream, source, sink);
    const bytes = sink.bytes();
    buffers.push([stream.cpu, bytes.length]);
    checksums.push(bytes.reduce((sum, byte) => (Math.imul(sum, 31) + byte) | 0, 0));
  }
  return { buffers, checksums };
}
