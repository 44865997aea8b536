import type { PerfFileHeader, PerfFileSection } from "../header/header.ts";

/** Contents of a {@link Region}. */
export type RegionKind =
  | "header"
  | "attrs"
  | "ids"
  | "event_types"
  | "data"
  | "feature_table"
  | "feature"
  | "gap";

/** A range of bytes of the file with one purpose. */
export interface Region {
  /** Contents; the header names nothing in a `gap`. */
  readonly kind: RegionKind;
  /** File offset of the first byte. */
  readonly offset: number;
  /** Size in bytes. */
  readonly size: number;
  /** Index of the attr for `ids`, id of the feature for `feature`. */
  readonly index?: number;
}

/** A section that exceeds the file or overlaps another section. */
export interface RegionConflict {
  /** The section, as in the file's tables. */
  readonly wanted: Region;
  /** Description of the conflict. */
  readonly reason: string;
}

/** The regions of a file in file order, without overlap and without holes. */
export interface FileLayout {
  /** Each byte of the file is in exactly one of these. */
  readonly regions: readonly Region[];
  /** Sections, or parts of sections, that are in no region. */
  readonly conflicts: readonly RegionConflict[];
}

/** Converts a section to numbers; offsets beyond 2^53 do not occur in real files. */
export function sectionRange(section: PerfFileSection): { offset: number; size: number } {
  return { offset: Number(section.offset), size: Number(section.size) };
}

/** The sections that the header, the attr table and the feature table name. */
export interface FileSections {
  /** The file header. */
  readonly header: PerfFileHeader;
  /** Size of the header. */
  readonly headerSize: number;
  /** The ids sections of the attrs, in the order of the attr table. */
  readonly ids: readonly PerfFileSection[];
  /** The data section. */
  readonly data: { readonly offset: number; readonly size: number };
  /** The feature sections, in the order of the feature table. */
  readonly features: readonly { readonly id: number; readonly section: PerfFileSection }[];
}

/**
 * Assigns each byte of a file to exactly one region.
 *
 * @param sections The sections that the file's tables name.
 * @param fileSize Size of the file in bytes.
 */
export function fileLayout(sections: FileSections, fileSize: number): FileLayout {
  const { header, data, features } = sections;
  const wanted: Region[] = [
    { kind: "header", offset: 0, size: sections.headerSize },
    { kind: "attrs", ...sectionRange(header.attrs) },
    ...sections.ids.map((section, index): Region => ({
      kind: "ids",
      ...sectionRange(section),
      index,
    })),
    { kind: "event_types", ...sectionRange(header.event_types) },
    { kind: "data", ...data },
    { kind: "feature_table", offset: data.offset + data.size, size: features.length * 16 },
    ...features.map(({ id, section }): Region => ({
      kind: "feature",
      ...sectionRange(section),
      index: id,
    })),
  ];
  const conflicts: RegionConflict[] = [];
  const placed: Region[] = [];
  const sorted = wanted.filter((region) => region.size > 0)
    .sort((a, b) => a.offset - b.offset || b.size - a.size);
  let end = 0;
  for (const region of sorted) {
    if (region.offset + region.size > fileSize) {
      conflicts.push({ wanted: region, reason: `ends beyond the file's ${fileSize} bytes` });
    } else if (region.offset < end) {
      conflicts.push({ wanted: region, reason: `begins inside of the section before it` });
    }
    const offset = Math.max(region.offset, end);
    const size = Math.min(region.offset + region.size, fileSize) - offset;
    if (size <= 0) continue;
    if (offset > end) placed.push({ kind: "gap", offset: end, size: offset - end });
    placed.push({ ...region, offset, size });
    end = offset + size;
  }
  if (end < fileSize) placed.push({ kind: "gap", offset: end, size: fileSize - end });
  return { regions: placed, conflicts };
}
