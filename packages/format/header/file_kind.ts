import { byteAt } from "../columns/elements.ts";
import type { FileCompression } from "../sources/compressed_source.ts";

/** Version and byte order, as the magic number encodes them. */
export interface Magic {
  /** 1: `PERFFILE`, 2: `PERFILE2`. */
  readonly version: 1 | 2;
  /** Byte order of the machine that wrote the file. */
  readonly littleEndian: boolean;
}

/** Magic numbers: the first eight bytes of recordings. */
export const MAGICS: Readonly<Record<string, Magic>> = {
  // Version 1 always has this byte order of the magic; the file's byte order shows in the sizes.
  PERFFILE: { version: 1, littleEndian: true },
  PERFILE2: { version: 2, littleEndian: true },
  "2ELIFREP": { version: 2, littleEndian: false },
};

/** Kinds of files that users pass by mistake for one another. */
export type FileKind =
  | FileCompression
  | "recording"
  | "lz4"
  | "zip"
  | "tar"
  | "elf"
  | "symbol bundle"
  | "jitdump"
  | "pprof"
  | "perf script"
  | "perf map"
  | "folded"
  | "cpuprofile";

/** Magic bytes by kind of file, in hexadecimal. */
const STARTS: readonly (readonly [start: RegExp, kind: FileKind])[] = [
  [/^1f 8b/, "gzip"],
  [/^28 b5 2f fd/, "zstd"],
  [/^fd 37 7a 58 5a 00/, "xz"],
  [/^42 5a 68 3[1-9]/, "bzip2"],
  [/^04 22 4d 18/, "lz4"],
  [/^50 4b 03 04/, "zip"],
  [/^7f 45 4c 46/, "elf"],
  [/^50 45 52 46 53 59 4d 53/, "symbol bundle"],
  [/^(?:44 54 69 4a|4a 69 54 44)/, "jitdump"],
];

/** Commands that read profiles of other tools. */
const IMPORTING = "report, view, flame, tree, funcs, diff and export";

/** Descriptions for error messages about a file that is not a recording. */
const TEXTS: Readonly<Record<Exclude<FileKind, "recording">, string>> = {
  gzip: "data packed by gzip, to be unpacked before",
  zstd: "data packed by zstd, to be unpacked before",
  xz: "data packed by xz, to be unpacked before",
  bzip2: "data packed by bzip2, to be unpacked before",
  lz4: "data packed by lz4, to be unpacked before: lz4 -d",
  zip: "a zip archive, to be unpacked before",
  tar: "a tar archive, to be unpacked before",
  elf: "an ELF file",
  "symbol bundle": "a symbol bundle",
  jitdump: "a jitdump: perfdata convert --jit puts it into its recording",
  pprof: `a profile of pprof, which ${IMPORTING} read`,
  "perf script": `text of perf script, which ${IMPORTING} read`,
  "perf map": "a perf map, which names generated code: it belongs to /tmp/perf-PID.map",
  folded: `text of folded stacks, which ${IMPORTING} read`,
  cpuprofile: `a profile of V8, which ${IMPORTING} read`,
};

/** Size of the header of a member of a tar archive. */
const TAR_HEADER = 512;

/** Number of bytes that {@link fileKind} needs for all kinds. */
export const KIND_BYTES: number = TAR_HEADER;

const hexOf = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

/**
 * Recognizes the kind of a file; `undefined` if it is unknown.
 *
 * @param start The first {@link KIND_BYTES} bytes. Eight bytes suffice except for tar and text.
 *
 * @example
 * ```ts
 * import { fileKind } from "@perfdata/format/constants";
 * import { assertEquals } from "@std/assert";
 *
 * const kindOf = (text: string) => fileKind(new TextEncoder().encode(text));
 * assertEquals(kindOf("PERFILE2"), "recording");
 * assertEquals(kindOf("\x7fELF"), "elf");
 * assertEquals(kindOf("main;work 12\n"), "folded");
 * assertEquals(kindOf("notes\n"), undefined);
 * ```
 */
export function fileKind(start: Uint8Array): FileKind | undefined {
  if (isTarHeader(start)) return "tar";
  const first = start.subarray(0, 8);
  if (Object.hasOwn(MAGICS, String.fromCharCode(...first))) return "recording";
  const hex = hexOf(first);
  return STARTS.find(([bytes]) => bytes.test(hex))?.[1] ??
    (isPprof(start) ? "pprof" : textKind(start));
}

/** Fields of a profile of pprof: numbers, and among the messages the types of values and of the period. */
const PPROF_NUMBERS = [7, 8, 9, 10, 12, 14, 15];
const PPROF_MESSAGES = 6;
const PPROF_TYPES = [1, 11];

/** Whether bytes are fields of a profile of pprof, one of which is the type of a value: two numbers of strings. */
function isPprof(start: Uint8Array): boolean {
  let at = 0;
  const varint = (): number => {
    let [value, scale, byte] = [0, 1, 0x80];
    while (byte >= 0x80 && at < start.length) {
      byte = byteAt(start, at++);
      value += (byte & 0x7f) * scale;
      scale *= 128;
    }
    return byte < 0x80 ? value : NaN;
  };
  while (at < start.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    if (tag % 8 === 0 && PPROF_NUMBERS.includes(field)) {
      varint();
      continue;
    }
    if (tag % 8 !== 2 || field < 1 || field > PPROF_MESSAGES && field !== 11) return false;
    const end = varint() + at;
    if (PPROF_TYPES.includes(field)) {
      return varint() === 0x08 && varint() > 0 && varint() === 0x10 && varint() > 0 && at === end;
    }
    at = end;
  }
  return false;
}

/** Returns the description of a kind of file for error messages. */
export const kindText = (kind: Exclude<FileKind, "recording">): string => TEXTS[kind];

function isTarHeader(start: Uint8Array): boolean {
  if (start.length < TAR_HEADER || hexOf(start.subarray(257, 262)) !== "75 73 74 61 72") {
    return false;
  }
  // The checksum: the sum of all bytes, with blanks in place of the checksum itself.
  let sum = 8 * 0x20;
  for (let i = 0; i < TAR_HEADER; i++) if (i < 148 || i >= 156) sum += start[i] as number;
  return parseInt(String.fromCharCode(...start.subarray(148, 156)), 8) === sum;
}

function textKind(start: Uint8Array): FileKind | undefined {
  // Decodes as latin1, which accepts all bytes.
  if (start.includes(0)) return undefined;
  const text = new TextDecoder("latin1").decode(start);
  if (text.trimStart().startsWith("{")) {
    return text.includes('"callFrame"') ? "cpuprofile" : undefined;
  }
  const lines = text.split("\n");
  // The last line may be incomplete.
  if (lines.length > 1) lines.pop();
  if (lines.some((line, i) => isScriptLine(line) || isUntimedScript(line, lines[i + 1]))) {
    return "perf script";
  }
  if (lines.every(isMapLine)) return "perf map";
  return lines.every(isFoldedLine) && lines.some((line) => line.includes(";"))
    ? "folded"
    : undefined;
}

/** The time and the thread in a line of `perf script`. */
const SCRIPT_TIME = /^\d{1,12}\.\d{6,9}:$/;
const SCRIPT_THREAD = /^\d{1,10}(?:\/\d{1,10})?$/;

/** Whether a line is of `perf script`: command, thread, optional CPU, and time. */
function isScriptLine(line: string): boolean {
  const words = line.split(" ").filter((word) => word !== "");
  const time = words.findIndex((word) => SCRIPT_TIME.test(word));
  return time > 1 && words.slice(1, time).some((word) => SCRIPT_THREAD.test(word));
}

/** A frame of `perf script`: its address. */
const SCRIPT_FRAME = /^\t *[0-9a-f]{1,16} /;
/** The same at the end of a line, in a column of 16 digits. */
const SCRIPT_CODE = /^ [ 0-9a-f]{16,17} .*\)$/;

/** A line of `perf script` without a time: a number and an event, then code in it or in the next line. */
function isUntimedScript(line: string, next = ""): boolean {
  const end = line.trimEnd();
  const colon = end.endsWith(":") ? end.length - 1 : end.indexOf(": ");
  const words = line.slice(0, Math.max(0, colon)).split(" ").filter((word) => word !== "");
  const number = words.at(-2) ?? "";
  return words.length > 2 && (SCRIPT_THREAD.test(number) || /^\[\d{1,9}\]$/.test(number)) &&
    (colon === end.length - 1 ? SCRIPT_FRAME.test(next) : SCRIPT_CODE.test(end.slice(colon + 1)));
}

const HEX = /^(?:0x)?[0-9a-fA-F]{1,16}$/;

/** Whether a line is of a perf map: address, size and name. */
function isMapLine(line: string): boolean {
  const [address = "", size = "", name = ""] = line.split(" ", 3);
  return HEX.test(address) && HEX.test(size) && name !== "";
}

/** Whether a line is a folded stack: frames and a number. */
function isFoldedLine(line: string): boolean {
  const end = line.lastIndexOf(" ");
  return end > 0 && /^\d+$/.test(line.slice(end + 1));
}
