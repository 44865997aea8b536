import {
  array,
  type Codec,
  countedBy,
  counter,
  headerString,
  type HiddenCodec,
  probed,
  struct,
  type StructValue,
  u32,
} from "../struct/mod.ts";
import type { ByteReader } from "../struct/cursor.ts";

/** The fields of CMDLINE, as perf writes it. */
export const CMDLINE_ARGV_FIELDS = {
  nr: [counter(u32, "argv") as HiddenCodec, "Number of arguments, including the program's path."],
  argv: [
    array(headerString, countedBy("nr")) as Codec<string[]>,
    "Path of the perf binary, then the arguments as the user gave them.",
  ],
} as const;
/** The field of CMDLINE as hiperf writes it. */
export const CMDLINE_LINE_FIELDS = {
  line: [headerString, "The whole command line as hiperf writes it: joined, arguments unquoted."],
} as const;

/** The command that made the recording: a list of arguments from perf, one line from hiperf. */
export type CommandLine =
  | StructValue<typeof CMDLINE_ARGV_FIELDS>
  | StructValue<typeof CMDLINE_LINE_FIELDS>;

/**
 * Whether the section is one string, which spans the whole section. Read as a count of arguments, the string's length
 * would be too large, since each argument takes more than one byte.
 */
function isLine(r: ByteReader): boolean {
  return r.left > 4 && r.view.getUint32(r.pos, r.littleEndian) === r.left - 4;
}

export const cmdline: Codec<CommandLine> = probed(isLine, {
  yes: struct("cmdline", CMDLINE_LINE_FIELDS),
  no: struct("cmdline", CMDLINE_ARGV_FIELDS),
  mark: "line",
});
