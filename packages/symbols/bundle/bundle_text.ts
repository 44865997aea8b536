/** Entries of a bundle as text. */
import { visible } from "@perfdata/format/bytes";
import { addressToHex } from "../resolver/address.ts";
import type { BundleEntry } from "./bundle_object.ts";

function frameName(
  { symbol }: BundleEntry,
  frame: BundleEntry["frames"][number],
  shown: (name: string) => string,
): string {
  return shown(
    frame.linkageName ?? frame.function ?? (frame.inlined ? "??" : symbol?.name ?? "??"),
  );
}

/**
 * An entry as lines: its range with the function, and its frames below it.
 *
 * @param shown Formats names: demangled, or unchanged.
 */
export function entryText(entry: BundleEntry, shown: (name: string) => string): string {
  const { start, end, symbol, frames, cause } = entry;
  const range = addressToHex(start) + (end - start === 1 ? "" : `-${addressToHex(end - 1)}`);
  if (cause !== undefined) return `  ${range} ?? (${cause})\n`;
  const at = symbol === undefined
    ? "??"
    : `${visible(shown(symbol.name))}+0x${(start - symbol.start).toString(16)}`;
  const lines = frames.map((frame, i) =>
    `    ${i > 0 ? "(inlined by) " : ""}${visible(frameName(entry, frame, shown))} at ${
      visible(frame.file ?? "??")
    }:${frame.line}\n`
  );
  return `  ${range} ${at}\n${lines.join("")}`;
}

/** The same as an object of JSON. */
export function entryJson(
  entry: BundleEntry,
  shown: (name: string) => string,
): Record<string, unknown> {
  const { start, end, symbol, frames, cause } = entry;
  return {
    start: addressToHex(start),
    size: end - start,
    symbol: symbol === undefined ? null : {
      name: symbol.name,
      demangled: shown(symbol.name),
      start: addressToHex(symbol.start),
      size: symbol.end - symbol.start,
    },
    frames: frames.map((frame) => ({
      function: frameName(entry, frame, shown),
      linkage_name: frame.linkageName ?? null,
      file: frame.file ?? null,
      line: frame.line,
      column: frame.column,
      discriminator: frame.discriminator,
      inlined: frame.inlined,
    })),
    cause,
  };
}
