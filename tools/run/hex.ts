/** Runs `hex`. */
import { HEX_SECTIONS, hexText } from "@perfdata/dump";
import { type ByteSource, isRandomAccess } from "@perfdata/format/bytes";
import { headerFile, openSource } from "@perfdata/format/files";
import {
  about,
  aboutAsync,
  colorMode,
  complain,
  InputError,
  oneFile,
  parseWord,
  progressOf,
  writeOut,
} from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { whyNothing } from "../shared/nothing.ts";
import { parseOffset } from "../shared/record_flags.ts";
import { parseTypes } from "../shared/type_flag.ts";
import type { FLAGS } from "../hex.ts";

/** Characters of text that are gathered before each write. */
const BLOCK = 1 << 16;

export async function run({ on, value, operands }: FlagsOf<typeof FLAGS>): Promise<number> {
  const file = oneFile(operands);
  let problems = 0;
  const options = {
    at: parseOffset("at", value.at),
    context: parseOffset("context", value.context),
    section: parseWord("section", value.section, HEX_SECTIONS),
    record: parseOffset("record", value.record),
    types: parseTypes(value.type),
    inflate: on.inflate,
    json: on.json,
    color: colorMode() === "colors",
    problem: () => void problems++,
  };
  // A recording may be a directory; the file with the header is shown.
  const source = about(file, () => openSource(headerFile(file)));
  const size = isRandomAccess(source) ? source.size : undefined;
  const { add, finish } = progressOf("hex", size);
  let text = "";
  let printed = false;
  await aboutAsync(file, async () => {
    for await (const lines of hexText(watched(source, add), options)) {
      text += lines;
      if (text.length >= BLOCK) {
        writeOut(text, true);
        printed = true;
        text = "";
      }
    }
  });
  finish();
  writeOut(text, true);
  if (!printed && text === "") {
    const { at, context: _, ...chosen } = value;
    const flags = Object.entries(chosen).flatMap(([flag, given]) =>
      given === undefined ? [] : [`--${flag} ${given}`]
    );
    if (size === 0 || (flags.length === 0 && at === undefined)) {
      throw new InputError(`${file}: the file is empty`);
    }
    const why = chosen.type !== undefined && flags.length === 1
      ? await whyNothing(file, { type: chosen.type })
      : `nothing matches ${flags.join(" and ")}`;
    complain(`hex: ${file}: nothing to print: ${why}`);
  }
  if (problems > 0) {
    const where = on.json ? 'in members "problems"' : "in lines that begin with !!";
    complain(`hex: ${file}: ${problems} ${problems === 1 ? "problem" : "problems"}, ${where}`);
  }
  return problems > 0 ? 1 : 0;
}

/** Wraps a source to report the size of each read. */
function watched(source: ByteSource, add: (bytes: number) => void): ByteSource {
  const note = (got: number): number => {
    add(got);
    return got;
  };
  if (isRandomAccess(source)) {
    return {
      ...source,
      readAt: async (into, position) => note(await source.readAt(into, position)),
    };
  }
  return { read: async (into) => note(await source.read(into)) };
}
