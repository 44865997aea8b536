import { demangle, SymbolBundleWriter, type SymbolResolver } from "@perfdata/symbols";
import type { RecordedAddresses } from "./addresses.ts";
import { type SymbolTrust, symbolTrust } from "./symbolize.ts";

/**
 * Makes a symbol bundle (docs/symbol-bundle.md) for the addresses of a recording.
 *
 * @returns its bytes, and how far it can be trusted
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { bundleSymbols, recordedAddresses } from "@perfdata/session/symbols";
 * import { SymbolBundle, SymbolResolver } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * const recorded = await recordedAddresses(await PerfDataReader.open(bytesSource(pipe)));
 * const resolver = new SymbolResolver({ open: () => undefined, read: () => undefined });
 * const { bytes } = await bundleSymbols(recorded, resolver);
 * assertEquals(SymbolBundle.open(bytes).objects.length, 0);
 * ```
 */
export async function bundleSymbols(
  recorded: RecordedAddresses,
  resolver: SymbolResolver,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly trust: SymbolTrust }> {
  const writer = new SymbolBundleWriter({ demangle });
  const trust = await symbolTrust(recorded, resolver, ({ symbols, rows, resolutions }) => {
    const { object, origin, segments } = symbols;
    const info = { ...object, segments, ...(origin === undefined ? {} : { origin }) };
    writer.addObject(info);
    resolutions.forEach((resolution, i) => {
      const address = recorded.table.address[rows[i] as number] as number;
      // No program has code beyond 2^53: damage has, and a `number` does not tell where.
      if (Number.isSafeInteger(address)) writer.add(info, address, resolution);
    });
  });
  return { bytes: writer.finish(), trust };
}
