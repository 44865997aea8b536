import { demangle, type SymbolResolver } from "@perfdata/symbols";
import { FrameSectionWriter, SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import { ADDRESS_USE } from "../places/address_table.ts";
import type { RecordedAddresses } from "../places/addresses.ts";
import { type LookUpProgress, type SymbolTrust, symbolTrust } from "./symbolize.ts";

/**
 * Creates a symbol bundle (docs/symbol-bundle.md) for the addresses of a recording.
 *
 * @param more Adds further contents.
 * @returns The bytes of the bundle, and the trust in its symbols.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { bundleSymbols } from "@perfdata/session/symbols";
 * import { recordedAddresses } from "@perfdata/session/code";
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
  more?: (writer: SymbolBundleWriter) => Promise<void>,
  progress?: LookUpProgress,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly trust: SymbolTrust }> {
  const writer = new SymbolBundleWriter({ demangle });
  const trust = await symbolTrust(recorded, resolver, ({ symbols, rows, resolutions }) => {
    const { object, origin, segments } = symbols;
    const info = { ...object, segments, origin };
    writer.addObject(info);
    resolutions.forEach((resolution, i) => {
      const address = recorded.table.address[rows[i] as number] as number;
      // Skip addresses of damaged records: no program has code beyond 2^53, and a `number` is not
      // exact there.
      if (Number.isSafeInteger(address)) writer.add(info, address, resolution);
    });
  }, progress);
  bundleUnwinding(recorded, writer);
  await more?.(writer);
  return { bytes: writer.finish(), trust };
}

/** Adds the unwinding rules of the addresses in unwound stacks. */
function bundleUnwinding(
  { engine, objects, table }: RecordedAddresses,
  writer: SymbolBundleWriter,
): void {
  if (engine?.unwinding === undefined) return;
  const sections = new Map<number, FrameSectionWriter>();
  for (let row = 0; row < table.count; row++) {
    const object = table.object[row] as number;
    const uses = table.uses[row] as number;
    if (object < 0 || uses === 0 || uses === ADDRESS_USE.BEFORE_RETURN) continue;
    const found = engine.unwinding.code(object);
    if (found?.code.origin === undefined) continue;
    let section = sections.get(object);
    if (section === undefined) sections.set(object, section = new FrameSectionWriter());
    const address = table.address[row] as number;
    if (found.code.row(address) < 0) continue;
    const known = found.code.rules(address);
    if (known !== undefined) section.add(address, known.rules, known.expressions);
  }
  for (const [object, section] of sections) {
    const { machine } = engine.unwinding.code(object)?.machine ?? { machine: 0 };
    const info = objects[object];
    if (info !== undefined) writer.addUnwinding(info, { machine, section: section.finish() });
  }
}
