/** User events that describe themselves (EventHeader), in the commands that print tracepoints. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Feature } from "@perfdata/format/features";
import { TRACING_DATA } from "../../fixtures/stepped/sched_switch.ts";
import { ptAttr, SAMPLE_TYPE } from "../../fixtures/synthesize/pt_parts.ts";
import { asFile, asPipe, type Item } from "../../fixtures/synthesize/recording.ts";
import { ignored } from "../support/ignored.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const ID = 1500;
const FIELDS = ["u8 eventheader_flags", "u8 version", "u16 id", "u16 tag", "u8 opcode", "u8 level"];

/** The format that the kernel makes of the registration of such a tracepoint. */
const FORMAT = (() => {
  let offset = 8;
  const own = FIELDS.map((field) => {
    const size = field.startsWith("u16") ? 2 : 1;
    offset += size;
    return `\tfield:${field};\toffset:${offset - size};\tsize:${size};\tsigned:0;\n`;
  });
  const names = FIELDS.map((field) => field.split(" ")[1]);
  return `name: Web_L5K1\nID: ${ID}\nformat:\n` +
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" +
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" +
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" +
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
    `${own.join("")}\nprint fmt: "${names.map((name) => `${name}=%u`).join(" ")}", ` +
    `${names.map((name) => `REC->${name}`).join(", ")}\n`;
})();

const text = (value: string) => [...new TextEncoder().encode(value), 0];

/** Raw data of an event `Request` with a text and a number of 64 bits. */
function request(url: string, bytes: bigint): Uint8Array {
  const metadata = [...text("Request"), ...text("url"), 7, ...text("bytes"), 5];
  const number = Array.from({ length: 8 }, (_, i) => Number(bytes >> BigInt(8 * i) & 0xffn));
  const data = [
    ...[ID & 255, ID >> 8, 0, 0, 7, 0, 0, 0],
    ...[7, 0, 0, 0, 0, 0, 0, 5],
    ...[metadata.length, 0, 1, 0, ...metadata],
    ...[...text(url), ...number],
  ];
  // The size of the data is 4 bytes more than a multiple of 8.
  return Uint8Array.from([...data, ...Array((12 - data.length % 8) % 8).fill(0)]);
}

async function recording(write = asFile): Promise<Uint8Array> {
  const tracing = {
    ...TRACING_DATA,
    value: {
      ...(TRACING_DATA as unknown as { value: object }).value,
      systems: [{ name: "user_events", formats: [FORMAT] }],
    },
  } as unknown as Feature;
  const items = [request("/", 7n), request("/a b", 2n ** 64n - 1n)].map((raw, i): Item => {
    const body = {
      identifier: 1n,
      ip: 0x1000n,
      pid: 7,
      tid: 7,
      time: BigInt(i + 1) * 1000n,
      cpu: 0,
      raw,
    };
    return { record: { type: 9, name: "SAMPLE", misc: 2, body } as unknown as Item["record"] };
  });
  const attr = ptAttr({
    ...{ type: 2, config: BigInt(ID), sample_period: 1n },
    sample_type: SAMPLE_TYPE | 0x400n,
  });
  return await write({ events: [{ attr, ids: [1n] }], items, features: [tracing] }, true);
}

const DECODED = [
  'Request {"url":"/","bytes":7}',
  'Request {"url":"/a b","bytes":18446744073709551615}',
];

Deno.test("user events: script and funcs --sort trace print the fields that events describe", () =>
  inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/perf.data`, await recording());
    const { out, err, code } = await tool("script", [`${folder}/perf.data`]);
    assertEquals(code, 0, err);
    const lines = out.trimEnd().split("\n");
    assertEquals(lines.length, 2, out);
    for (const [i, line] of lines.entries()) {
      assert(line.endsWith(`level=5 ${DECODED[i]}`), line);
    }
    const rows = await tool("funcs", ["--sort", "trace", "--json", `${folder}/perf.data`]);
    for (const text of DECODED) assertStringIncludes(rows.out, JSON.stringify(text).slice(1, -1));
  }));

Deno.test("user events: records --fields and tables have the fields that events describe", () =>
  inFolder(async (folder) => {
    const path = `${folder}/perf.data`;
    Deno.writeFileSync(path, await recording());
    const common = { eventheader_flags: 7, version: 0, id: 0, tag: 0, opcode: 0, level: 5 };
    const fieldsOf = (url: string, bytes: string) =>
      `${JSON.stringify({ ...common, eventheader_name: "Request" }).slice(0, -1)},` +
      `"eventheader_fields":{"url":"${url}","bytes":${bytes}}}`;
    const expected = [fieldsOf("/", "7"), fieldsOf("/a b", "18446744073709551615")];
    for (const order of ["file", "time"]) {
      const flags = ["--fields", "--order", order, "--type", "SAMPLE"];
      const { out, err, code } = await tool("records", [...flags, path]);
      assertEquals(code, 0, err);
      const comm = order === "time" ? ',"comm":null' : "";
      const ends = out.trimEnd().split("\n").map((line) => line.slice(line.indexOf(',"fields"')));
      assertEquals(ends, expected.map((fields) => `,"fields":${fields}${comm}}`));
      const csv = await tool("records", [...flags, "--csv", path]);
      assertStringIncludes(csv.out, `,""fields"":${expected[1]?.replaceAll('"', '""')}`);
      const without = await tool("records", flags.slice(1).concat(path));
      assertEquals(
        out,
        without.out.trimEnd().split("\n").map((line, i) =>
          comm === ""
            ? `${line.slice(0, -1)},"fields":${expected[i]}}\n`
            : line.replace(comm, () => `,"fields":${expected[i]}${comm}`) + "\n"
        ).join(""),
      );
    }
    const flags = ["--fields", "--type", "SAMPLE", "-"];
    const piped = await tool("records", flags, { input: await recording(asPipe) });
    for (const fields of expected) assertStringIncludes(piped.out, `,"fields":${fields}}\n`);
    const tables = await tool("export", ["arrow", "-o", `${folder}/t`, path]);
    assertEquals(tables.code, 0, tables.err);
    const [file] = [...Deno.readDirSync(`${folder}/t/tracepoints`)];
    const table = Deno.readFileSync(`${folder}/t/tracepoints/${file?.name}`);
    const text = new TextDecoder().decode(table);
    for (const fields of expected) assertStringIncludes(text, fields);
  }));

Deno.test(
  "user events: perf prints the same up to the decoded fields",
  ignored(noPerf()),
  () =>
    inFolder(async (folder) => {
      const path = `${folder}/perf.data`;
      Deno.writeFileSync(path, await recording());
      const { out } = await tool("script", [path]);
      const perf = (await perfText(["script"], path))?.stdout ?? "";
      const own = out.replaceAll(/ Request \{.*\}$/gm, "");
      assertEquals(own, perf);
    }),
);
