import { PerfDataError } from "../error.ts";
import { fileKind, kindText, type Magic, MAGICS } from "./file_kind.ts";
import {
  array,
  bytes,
  chars,
  type Codec,
  decode,
  doc,
  optional,
  type OptionalCodec,
  struct,
  type StructCodec,
  type StructValue,
  u64,
  x64,
} from "../struct/mod.ts";

/** Codec of a {@link PerfFileSection}. */
export const perfFileSection: StructCodec<{
  offset: Codec<bigint>;
  size: Codec<bigint>;
}> = struct("perf_file_section", {
  offset: doc("Byte offset in the file.", x64),
  size: doc("Size in bytes.", u64),
});

/** Offset and size of a section of the file. */
export type PerfFileSection = StructValue<typeof perfFileSection.parts>;

export type { Magic } from "./file_kind.ts";

/**
 * Parses the first 16 bytes of a file: magic number and `size`.
 *
 * Version 2 has its magic reversed on big-endian machines. Version 1 does not: its byte order is the one in
 * which `size` is a plausible number.
 *
 * @returns `undefined` if the bytes are not the start of a perf.data file.
 *
 * @example
 * ```ts
 * import { parseMagic } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const start = new Uint8Array(16);
 * start.set(new TextEncoder().encode("PERFILE2"));
 * assertEquals(parseMagic(start), { version: 2, littleEndian: true });
 * assertEquals(parseMagic(new Uint8Array(16)), undefined);
 * ```
 */
export function parseMagic(start: Uint8Array): Magic | undefined {
  if (start.length < 16) return undefined;
  const magic = MAGICS[String.fromCharCode(...start.subarray(0, 8))];
  if (magic?.version !== 1) return magic;
  const view = new DataView(start.buffer, start.byteOffset, 16);
  return view.getUint32(8, true) !== 0 || view.getUint32(12, true) === 0
    ? magic
    : { version: 1, littleEndian: false };
}

/** `perf_pipe_file_header`: the whole header of a pipe stream. */
export const perfPipeFileHeader: StructCodec<{
  magic: Codec<Uint8Array>;
  size: Codec<bigint>;
}> = struct("perf_pipe_file_header", {
  magic: doc("`PERFILE2` in the writer's byte order.", bytes(8)),
  size: doc("Size of this header: 16.", u64),
});

const FILE_HEADER_FIELDS = {
  magic: [bytes(8) as Codec<Uint8Array>, "`PERFILE2` in the writer's byte order, or `PERFFILE`."],
  size: [u64, "Size of this header."],
  attr_size: [u64, "Size of an entry of the attr table."],
  attrs: [perfFileSection as Codec<PerfFileSection>, "The attr table."],
  data: [perfFileSection as Codec<PerfFileSection>, "The records."],
  event_types: [
    perfFileSection as Codec<
      PerfFileSection
    >,
    "Names of event types; old files only.",
  ],
  adds_features: [
    optional(array(x64, 4)) as OptionalCodec<bigint[]>,
    "Bitmap of the feature sections after the data: 256 bits.",
  ],
} as const;

/** `perf_file_header` (`tools/perf/util/header.h`): 104 bytes, or 72 in files older than feature sections. */
export const perfFileHeader: StructCodec<typeof FILE_HEADER_FIELDS> = struct(
  "perf_file_header",
  FILE_HEADER_FIELDS,
);

/** The header of a file. */
export type PerfFileHeader = StructValue<typeof FILE_HEADER_FIELDS> & {
  /** Bytes beyond the declared header. */
  tail?: Uint8Array;
};

/** Size of the header with feature bits. */
export const PERF_FILE_HEADER_SIZE = 104;
/** Size of the header of the oldest files, without feature bits. */
export const PERF_FILE_HEADER_SIZE_OLD = 72;
/** Size of the header of a pipe stream. */
export const PERF_PIPE_HEADER_SIZE = 16;

/** Longest accepted header; a larger `size` is damage. */
const MAX_HEADER_SIZE = 4096;

/**
 * Checks the `size` in the first 16 bytes and returns it.
 *
 * @param start The first 16 bytes; with more bytes, the error names the kind of a file that is no recording.
 * @throws {PerfDataError} If the bytes are not the start of a perf.data file, or the size is impossible.
 */
export function headerSize(start: Uint8Array): { magic: Magic; size: number } {
  const magic = parseMagic(start);
  if (magic === undefined) {
    const found = [...start.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, "0"))
      .join(" ");
    const kind = fileKind(start);
    const what = kind === undefined || kind === "recording" ? "" : `; it is ${kindText(kind)}`;
    throw new PerfDataError(
      start.length < 16
        ? `file header: ${start.length} bytes, expected at least 16`
        : start.every((byte) => byte === 0)
        ? "file header: all zeros: the recording was never finished"
        : `file header: magic is ${found}, expected PERFILE2 or PERFFILE${what}`,
      { offset: 0, code: "not-perf-data" },
    );
  }
  const view = new DataView(start.buffer, start.byteOffset, 16);
  const size = view.getBigUint64(8, magic.littleEndian);
  if (
    size !== BigInt(PERF_PIPE_HEADER_SIZE) &&
    (size < BigInt(PERF_FILE_HEADER_SIZE_OLD) || size > BigInt(MAX_HEADER_SIZE))
  ) {
    throw new PerfDataError(
      `file header: size is ${size}, expected 16 (pipe), 72 or 104`,
      { offset: 8 },
    );
  }
  return { magic, size: Number(size) };
}

/**
 * Decodes the header of a file from its first `size` bytes.
 *
 * @throws {PerfDataError} If the bytes are too short for a header.
 */
export function decodeFileHeader(bytes: Uint8Array, littleEndian: boolean): PerfFileHeader {
  const { value, tail } = decode(perfFileHeader, bytes, { littleEndian });
  return tail === undefined ? value : { ...value, tail };
}

/** Bit of the host name. All writers of features set it; see {@link featureIds}. */
const HEADER_HOSTNAME = 3;

/**
 * Returns the ids of the feature sections in the header's bitmap, in file order.
 *
 * `adds_features` is an array of C `unsigned long`. A 32-bit big-endian machine swaps the halves of each
 * 64-bit word, so both readings are tried, as `perf_file_header__read` does: the correct one includes
 * the host name.
 */
export function featureIds(header: PerfFileHeader, littleEndian: boolean): number[] {
  const words = header.adds_features ?? [];
  const ids = bitsOf(words);
  if (littleEndian || ids.length === 0 || ids.includes(HEADER_HOSTNAME)) return ids;
  const halves = bitsOf(words.map((word) => (word >> 32n) | ((word & 0xffff_ffffn) << 32n)));
  return halves.includes(HEADER_HOSTNAME) ? halves : ids;
}

function bitsOf(words: readonly bigint[]): number[] {
  const ids: number[] = [];
  words.forEach((word, i) => {
    for (let bit = 0; bit < 64; bit++) {
      if ((word >> BigInt(bit)) & 1n) ids.push(i * 64 + bit);
    }
  });
  return ids;
}

/** `perf_trace_event_type`: the name of an event in the oldest files. */
export const perfTraceEventType: StructCodec<{
  event_id: Codec<bigint>;
  name: Codec<string>;
}> = struct("perf_trace_event_type", {
  event_id: doc("`config` of the event.", u64),
  name: doc("Name of the event.", chars(64)),
});
