/**
 * Minimum size of an ELF file, from its first 64 bytes: the end of its section and program headers;
 * `undefined` if it is not an ELF file. Compare it with a limit: above 2⁵³ it is rounded.
 *
 * @example
 * ```ts
 * import { elfExtent } from "@perfdata/symbols";
 * import { assert, assertEquals } from "@std/assert";
 *
 * assertEquals(elfExtent(new Uint8Array(64)), undefined);
 * using file = Deno.openSync(Deno.execPath());
 * const start = new Uint8Array(64);
 * file.readSync(start);
 * assert((elfExtent(start) ?? Infinity) <= file.statSync().size);
 * ```
 */
export function elfExtent(start: Uint8Array): number | undefined {
  const [a, b, c, d, elfClass, order] = start;
  if (a !== 0x7f || b !== 0x45 || c !== 0x4c || d !== 0x46) return undefined;
  if ((elfClass !== 1 && elfClass !== 2) || (order !== 1 && order !== 2)) return undefined;
  const view = new DataView(start.buffer, start.byteOffset, start.byteLength);
  const le = order === 1;
  const [segments, sections, sizes] = elfClass === 2
    ? [Number(view.getBigUint64(32, le)), Number(view.getBigUint64(40, le)), 54]
    : [view.getUint32(28, le), view.getUint32(32, le), 42];
  const table = (at: number, size: number): number =>
    at + view.getUint16(size, le) * view.getUint16(size + 2, le);
  return Math.max(table(segments, sizes), table(sections, sizes + 4));
}
