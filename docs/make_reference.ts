/**
 * Makes `docs/reference.md` from the declarations: `deno run --allow-write=docs docs/make_reference.ts`.
 */
import { type Codec } from "../packages/format/struct/codec.ts";
import { emptyAttr, FEATURES, KERNEL_RECORDS } from "../packages/format/mod.ts";
import { perfEventAttr } from "../packages/format/header/attr.ts";
import { perfFileHeader } from "../packages/format/header/header.ts";
import { sampleBody } from "../packages/format/sample/sample.ts";
import { USER_RECORDS } from "../packages/user-records/mod.ts";

const INTRO = `# Reference: structures and their fields

Generated from the declarations by \`docs/make_reference.ts\`. The names are those of the kernel and of perf; they are also the
keys of the JSON of \`records\` and the fields of \`hex\`. Integers are in the byte order of the file. A field in parentheses is on
disk but not in the decoded value, since it follows from the others. \`?\` marks fields that may be missing.
`;

/** Escapes what would end a cell of a table. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

/** How the values of a field are named, where they are. */
function namesText(codec: Codec<unknown>): string {
  const { as, names } = codec.display;
  if (names === undefined) return "";
  const all = Object.entries(names).map(([value, name]) =>
    `${as === "flags" ? `0x${Number(value).toString(16)}` : value} ${name}`
  );
  return ` ${all.join(", ")}.`;
}

function rows(parts: Readonly<Record<string, Codec<unknown>>>, prefix: string): string[] {
  return Object.entries(parts).flatMap(([name, codec]) => {
    if (codec.type === "") return [];
    const path = `${prefix}${name}`;
    const shown = codec.presence === "hidden"
      ? `(\`${path}\`)`
      : `\`${path}\`${codec.presence === "optional" ? "?" : ""}`;
    const bits = (codec as { bits?: Readonly<Record<string, number>> }).bits;
    const bitText = bits === undefined
      ? ""
      : ` Bits, lowest first: ${
        Object.entries(bits).map(([bit, width]) => width === 1 ? bit : `${bit}:${width}`).join(", ")
      }.`;
    const hex = codec.display.as === "hex" ? ", hex" : "";
    const row = `| ${shown} | ${cell(codec.type)}${hex} | ${
      cell((codec.doc ?? "") + namesText(codec) + bitText)
    } |`;
    const element = codec.parts?.["element"];
    if (codec.display.as === "array" && element?.parts !== undefined) {
      return [row, ...rows(element.parts, `${path}[].`)];
    }
    // An attr has a table of its own.
    const inner = codec.display.as === "struct" && codec.type !== "perf_event_attr"
      ? codec.parts
      : undefined;
    return inner === undefined ? [row] : [row, ...rows(inner, `${path}.`)];
  });
}

function table(parts: Readonly<Record<string, Codec<unknown>>> | undefined): string {
  const body = rows(parts ?? {}, "");
  return body.length === 0
    ? "No fields.\n"
    : `| field | type | |\n| --- | --- | --- |\n${body.join("\n")}\n`;
}

/** The text of `docs/reference.md`. */
export function reference(): string {
  const sample = sampleBody({ ...emptyAttr(), sample_type: 0x1ff_ffffn, read_format: 0x17n });
  const sections = [
    INTRO,
    "## File header\n",
    table(perfFileHeader.parts),
    "## perf_event_attr\n",
    table(perfEventAttr().parts),
    "# Records\n",
    ...[...KERNEL_RECORDS, ...USER_RECORDS].flatMap(({ type, name, body }) => [
      `## ${name} (${type})\n`,
      name === "SAMPLE"
        ? `The fields depend on \`sample_type\` of the event.\n\n${table(sample.parts)}`
        : table((body as Codec<unknown>).parts),
    ]),
    "# Feature sections\n",
    ...FEATURES.flatMap(({ id, name, codec }) => {
      const any = codec as Codec<unknown>;
      const parts = any.display.as === "array" ? any.parts?.["element"]?.parts : any.parts;
      const kind = any.display.as === "array" ? `An array of ${any.type.replace("[]", "")}.` : "";
      const text = parts === undefined
        ? `${any.type}. ${any.doc ?? ""}${namesText(any)}\n`
        : `${kind === "" ? "" : `${kind}\n\n`}${table(parts)}`;
      return [`## ${name} (${id})\n`, text];
    }),
  ];
  return sections.join("\n");
}

if (import.meta.main) {
  Deno.writeTextFileSync(new URL("reference.md", import.meta.url), reference());
}
