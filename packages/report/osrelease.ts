import {
  decodeFeature,
  HEADER_OSRELEASE,
  PerfDataError,
  type PerfDataReader,
} from "@perfdata/format";

/** The kernel release that was recorded (`uname -r`), where the file says so. */
export async function osrelease(reader: PerfDataReader): Promise<string | undefined> {
  const section = reader.features.find(({ id }) => id === HEADER_OSRELEASE)?.section;
  if (section === undefined) return undefined;
  try {
    const bytes = await reader.readSection(
      Number(section.offset),
      Number(section.size),
      "OSRELEASE",
    );
    const feature = decodeFeature(HEADER_OSRELEASE, bytes, { littleEndian: reader.littleEndian });
    return feature.name === "OSRELEASE" ? feature.value : undefined;
  } catch (error) {
    if (!(error instanceof PerfDataError)) throw error;
    return undefined;
  }
}
