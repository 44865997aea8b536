import { perfEventAttr } from "../header/attr.ts";
import { type ErrorPlace, PerfDataError } from "../error.ts";
import { PerfEvent } from "../header/events.ts";
import { FEATURE_NAMES, HEADER_ARCH } from "../features/names.ts";
import {
  featureIds,
  type PerfFileHeader,
  type PerfFileSection,
  perfFileSection,
} from "../header/header.ts";
import { sectionRange } from "./regions.ts";
import { array, decode, u64 } from "../struct/mod.ts";

/** The members of a file's reader that these functions use. */
export interface TablesHost {
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  readonly fileSize: number | undefined;
  /** Reads a range of bytes; throws a `PerfDataError` if the file is too short. */
  readSection(offset: number, size: number, what: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Throws if the reader is strict; reports if it is tolerant. */
  reportDamage(message: string, place: ErrorPlace): void;
}

export interface Range {
  readonly offset: number;
  readonly size: number;
}

/**
 * Determines the range of the records from the header and the file size.
 *
 * @returns The range; `whole` is true if the feature table follows it.
 */
export async function dataRange(
  host: TablesHost,
  header: PerfFileHeader,
): Promise<Range & { readonly whole: boolean }> {
  const data = sectionRange(header.data);
  const fileSize = host.fileSize ?? Infinity;
  if (data.offset > fileSize) {
    host.reportDamage(
      `file header: data at ${hexOffset(data.offset)}, beyond the file's end` +
        featuresLost(host, header),
      { offset: 40, code: "cut" },
    );
    return { offset: fileSize, size: 0, whole: false };
  }
  if (data.size === 0 && !await isEmptyOnPurpose(host, header, data.offset)) {
    host.reportDamage(
      "file header: data size is 0, the recording was not finished; reading to the end of the file",
      { offset: 48 },
    );
    return { offset: data.offset, size: fileSize - data.offset, whole: false };
  }
  if (data.offset + data.size > fileSize) {
    host.reportDamage(
      `file header: data ends at ${hexOffset(data.offset + data.size)}, ` +
        `the file at ${hexOffset(fileSize)}${featuresLost(host, header)}`,
      { offset: 48, code: "cut" },
    );
    return { offset: data.offset, size: fileSize - data.offset, whole: false };
  }
  return { ...data, whole: true };
}

/** Text about the features lost with the end of the data, since the feature table follows the data. */
function featuresLost({ littleEndian }: TablesHost, header: PerfFileHeader): string {
  const { length } = featureIds(header, littleEndian);
  return length === 0 ? "" : `, so that ${length} features are missing`;
}

/**
 * Reads the attr table and the ids of its events.
 *
 * @param idBytes Limit for the bytes of all events' ids together.
 * @param arch Returns the machine, for the names of registers.
 * @param found Receives each event and the section of its ids.
 */
export async function readAttrs(
  host: TablesHost,
  header: PerfFileHeader,
  idBytes: number,
  arch: () => string | undefined,
  found: (event: PerfEvent, ids: PerfFileSection) => void,
): Promise<void> {
  const table = sectionRange(header.attrs);
  const attrSize = Number(header.attr_size);
  if (table.size === 0) return;
  // An entry is an attr and the section of its ids.
  if (attrSize < 16 + 8 || attrSize > 1 << 16) {
    throw new PerfDataError(`file header: attr_size is ${attrSize}, expected at least 80`, {
      offset: 16,
    });
  }
  const bytes = await host.readSection(table.offset, table.size, "attr table");
  const { littleEndian } = host;
  // In a damaged file, many attrs may share one ids section, so the total is limited.
  let idsLeft = idBytes;
  for (let at = 0; at + attrSize <= bytes.length; at += attrSize) {
    const base = table.offset + at;
    const end = at + attrSize - 16;
    const attr = decode(perfEventAttr(attrSize - 16), bytes.subarray(at, end), {
      littleEndian,
      base,
    }).value;
    const section = decode(perfFileSection, bytes.subarray(end, at + attrSize), {
      littleEndian,
      base: table.offset + end,
    }).value;
    let ids: bigint[] = [];
    try {
      const { offset, size } = sectionRange(section);
      if (size > idsLeft) {
        throw new PerfDataError(
          `event ids: ${size} bytes, more than the file has left for them`,
          {
            offset: base + attrSize - 16,
          },
        );
      }
      idsLeft -= size;
      // The offset of an empty ids section does not matter.
      if (size > 0) {
        ids = decode(array(u64, "rest"), await host.readSection(offset, size, "event ids"), {
          littleEndian,
          base: offset,
        }).value;
      }
    } catch (error) {
      if (!(error instanceof PerfDataError)) throw error;
      host.reportDamage(error.message, error);
    }
    found(new PerfEvent(attr, ids, arch), section);
  }
}

/** Whether a data size of 0 is correct: if a valid feature table follows the header. */
async function isEmptyOnPurpose(
  host: TablesHost,
  header: PerfFileHeader,
  offset: number,
): Promise<boolean> {
  const ids = featureIds(header, host.littleEndian);
  const end = offset + 16 * ids.length;
  if (host.fileSize === undefined || host.fileSize < end) return false;
  if (ids.length === 0) return host.fileSize === offset;
  const sections = decode(
    array(perfFileSection, ids.length),
    await host.readSection(offset, 16 * ids.length, "feature table"),
    { littleEndian: host.littleEndian },
  ).value.map(sectionRange);
  const size = host.fileSize;
  return sections.every((section) =>
    section.size === 0 || (section.offset >= end && section.offset + section.size <= size)
  );
}

/** A feature section and its bit of the feature bitmap. */
export interface FeatureSection {
  /** Bit of the feature bitmap. */
  readonly id: number;
  /** Offset and size of the section. */
  readonly section: PerfFileSection;
}

/**
 * Reads the feature table and the feature ARCH.
 *
 * @param offset File offset of the table.
 * @param takeArch Receives the bytes of the feature ARCH.
 * @returns `listed`: all entries of the table; `whole`: the entries whose sections lie within the file.
 */
export async function readFeatureTable(
  host: TablesHost,
  header: PerfFileHeader,
  offset: number,
  takeArch: (bytes: Uint8Array) => void,
): Promise<{ listed: readonly FeatureSection[]; whole: readonly FeatureSection[] }> {
  const { littleEndian } = host;
  const features: FeatureSection[] = [];
  const isLost = ({ section }: FeatureSection): boolean => {
    const range = sectionRange(section);
    return range.offset + range.size > (host.fileSize ?? Infinity);
  };
  try {
    const ids = featureIds(header, littleEndian);
    const bytes = await host.readSection(offset, 16 * ids.length, "feature table");
    ids.forEach((id, i) => {
      const { value: section } = decode(perfFileSection, bytes.subarray(i * 16, i * 16 + 16), {
        littleEndian,
        base: offset + i * 16,
      });
      features.push({ id, section });
    });
    const lost = features.filter(isLost);
    if (lost.length > 0) {
      const names = lost.map(({ id }) => FEATURE_NAMES[id] ?? id).join(", ");
      host.reportDamage(
        `feature table: ${lost.length} of ${ids.length} features end beyond the file's ` +
          `${host.fileSize} bytes: ${names}`,
        { offset, code: "cut" },
      );
    }
    const arch = features.find(({ id }) => id === HEADER_ARCH);
    if (arch !== undefined && !isLost(arch)) {
      const section = sectionRange(arch.section);
      takeArch(
        await host.readSection(section.offset, Math.min(section.size, 4096), "feature ARCH"),
      );
    }
  } catch (error) {
    if (!(error instanceof PerfDataError)) throw error;
    host.reportDamage(error.message, error);
  }
  return { listed: features, whole: features.filter((feature) => !isLost(feature)) };
}

/** Formats a file offset in hexadecimal. */
export function hexOffset(offset: number): string {
  return `0x${offset.toString(16)}`;
}
