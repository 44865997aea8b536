/** `export otlp`: decoded by another library, and by the published protocol where that is installed. */
import { assert, assertEquals } from "@std/assert";
import protobuf from "npm:protobufjs@8.8.1";
import { otlp } from "@perfdata/export";
import { bytesOf, smallProfile } from "../../packages/export/testing.ts";
import { ignored } from "../support/ignored.ts";
import { noModules, python } from "../support/python.ts";
import { inFolder, tool } from "../support/tool.ts";

const recorded = new URL("../../fixtures/recorded/", import.meta.url).pathname;
const SCHEMA = protobuf.parse(
  Deno.readTextFileSync(new URL("../support/otlp.proto", import.meta.url)),
  { keepCase: true },
).root.lookupType("perfdata.tests.ProfilesData");

interface Attribute {
  readonly key_strindex: number;
  readonly value: {
    readonly string_value?: string;
    readonly int_value?: string;
    readonly array_value?: { readonly values: readonly { readonly string_value: string }[] };
  };
}

interface Profiles {
  readonly resource_profiles: readonly {
    readonly scope_profiles: readonly {
      readonly scope: { readonly name: string };
      readonly profiles: readonly {
        readonly sample_type: { readonly type_strindex: number; readonly unit_strindex: number };
        readonly samples: readonly {
          readonly stack_index?: number;
          readonly attribute_indices: readonly number[];
          readonly values: readonly string[];
        }[];
        readonly duration_nano?: string;
        readonly attribute_indices: readonly number[];
      }[];
    }[];
  }[];
  readonly dictionary: {
    readonly mapping_table: readonly {
      readonly memory_start?: string;
      readonly memory_limit?: string;
      readonly filename_strindex: number;
      readonly attribute_indices?: readonly number[];
    }[];
    readonly location_table: readonly {
      readonly mapping_index?: number;
      readonly address?: string;
      readonly lines?: readonly { readonly function_index: number; readonly line?: string }[];
      readonly attribute_indices?: readonly number[];
    }[];
    readonly function_table: readonly {
      readonly name_strindex: number;
      readonly filename_strindex?: number;
    }[];
    readonly link_table: readonly unknown[];
    readonly string_table: readonly string[];
    readonly attribute_table: readonly Attribute[];
    readonly stack_table: readonly { readonly location_indices?: readonly number[] }[];
  };
}

/** Samples as lines: event, unit, attributes, value, and functions from the outermost one. */
function lines({ resource_profiles, dictionary: of }: Profiles): string[] {
  const text = (number = 0) => of.string_table[number] ?? "?";
  const attributes = (numbers: readonly number[] = []) =>
    numbers.map((number) => {
      const { key_strindex, value } = of.attribute_table[number] as Attribute;
      const { string_value, int_value, array_value } = value;
      const shown = array_value?.values.map((each) => each.string_value).join("+");
      return `${text(key_strindex)}=${string_value ?? int_value ?? shown}`;
    }).join(" ");
  return resource_profiles.flatMap(({ scope_profiles }) => scope_profiles).flatMap((scope) => {
    assertEquals(scope.scope.name, "perfdata");
    return scope.profiles.flatMap(({ sample_type, samples }) =>
      samples.map((sample) => {
        const stack = of.stack_table[sample.stack_index ?? 0]?.location_indices ?? [];
        const frames = stack.flatMap((number) => {
          const location = of.location_table[number];
          const mapping = of.mapping_table[location?.mapping_index ?? 0];
          const object = `${text(mapping?.filename_strindex)} ${
            attributes([...mapping?.attribute_indices ?? [], ...location?.attribute_indices ?? []])
          }`;
          return (location?.lines ?? []).map(({ function_index, line }) => {
            const called = of.function_table[function_index];
            return `${text(called?.name_strindex)} ${text(called?.filename_strindex)}:${
              line ?? 0
            } ${object}`;
          });
        });
        return [
          `${text(sample_type.type_strindex)} ${text(sample_type.unit_strindex)}`,
          attributes(sample.attribute_indices),
          sample.values.join(),
          ...frames.reverse(),
        ].join(" | ");
      })
    );
  });
}

const decoded = (bytes: Uint8Array): Profiles =>
  SCHEMA.toObject(SCHEMA.decode(bytes), { longs: String, arrays: false }) as Profiles;

Deno.test("otlp: stacks, sums, threads, objects and lines of a small profile", async () => {
  const bytes = await bytesOf(otlp(smallProfile(false)));
  const data = decoded(bytes);
  const demo = "/usr/bin/demo process.executable.build_id.gnu=0011aaff profile.frame.type=native";
  const main = `main /src/demo.c:10 ${demo}`;
  const f = `${main} | f /src/demo.c:20 ${demo} | g /src/in.h:3 ${demo}`;
  const k = `${f} | k :0 [kernel.kallsyms] profile.frame.type=kernel`;
  const first = "thread.name=demo thread.id=7 process.pid=7";
  const second = "thread.name=work er thread.id=8 process.pid=7";
  assertEquals(lines(data), [
    ...[
      `${first} | 2 | ${f}`,
      `${first} | 1 | ${k}`,
      `${second} | 1 | ${f}`,
      `${first} | 1 | ${main}`,
    ]
      .map((line) => `cpu-clock_samples count | ${line}`),
    `cpu-clock_samples count | ${second} | 1`,
    ...[
      `${first} | 17 | ${f}`,
      `${first} | 20 | ${k}`,
      `${second} | 3 | ${f}`,
      `${first} | 5 | ${main}`,
    ]
      .map((line) => `cpu-clock nanoseconds | ${line}`),
    `cpu-clock nanoseconds | ${second} | 4`,
    `page-faults_samples count | ${first} | 1 | ${main}`,
    `page-faults count | ${first} | 1 | ${main}`,
  ]);
  // The zero values that the protocol asks for.
  const { dictionary: of } = data;
  for (const table of [of.mapping_table, of.location_table, of.function_table, of.stack_table]) {
    assertEquals(table[0], {} as never);
  }
  assertEquals([of.string_table[0], of.attribute_table[0]], ["", {} as never]);
  const [link] = of.link_table as { trace_id: Uint8Array; span_id: Uint8Array }[];
  assertEquals([link?.trace_id.length, link?.span_id.length], [16, 8]);
  const [mapping] = of.mapping_table.slice(1);
  assertEquals([mapping?.memory_start, mapping?.memory_limit], ["4096", "8193"]);
  // All that was written is known to the schema.
  assertEquals(SCHEMA.encode(SCHEMA.decode(bytes)).finish().length, bytes.length);
});

Deno.test("export otlp: sums are those of the recording, and no entry is left unused", () =>
  inFolder(async (folder) => {
    let samples = 0;
    for (const name of ["callchain", "two-events", "all-cpus"]) {
      const path = `${recorded}${name}.perf.data`;
      const file = `${folder}/${name}.otlp`;
      const { code, err } = await tool("export", ["otlp", "-o", file, path]);
      assertEquals(code, 0, err);
      const { resource_profiles, dictionary: of } = decoded(Deno.readFileSync(file));
      const found = resource_profiles[0]?.scope_profiles[0]?.profiles.map((profile) => {
        const values = profile.samples.flatMap(({ values }) => values);
        return [
          of.string_table[profile.sample_type.type_strindex],
          values.reduce((sum, value) => sum + Number(value), 0),
        ];
      });
      const funcs = await tool("funcs", ["--json", "--no-inline", path]);
      const sums = new Map<string, [number, number]>();
      for (const line of funcs.out.trimEnd().split("\n")) {
        const { event, samples, period } = JSON.parse(line);
        const [n, p] = sums.get(event) ?? [0, 0];
        sums.set(event, [n + samples, p + period]);
      }
      const expected = [...sums].flatMap(([event, [n, period]]) => [
        [sums.size > 1 ? `${event}_samples` : "samples", n],
        [event, period],
      ]);
      assertEquals(found, expected, name);
      samples += [...sums.values()].reduce((sum, [n]) => sum + n, 0);
      const used = new Set(of.stack_table.flatMap((stack) => stack.location_indices ?? []));
      assertEquals(used.size, of.location_table.length - 1, name);
      const called = of.location_table.flatMap(({ lines = [] }) => lines);
      assertEquals(
        new Set(called.map(({ function_index }) => function_index)).size,
        of.function_table.length - 1,
        name,
      );
    }
    assert(samples > 100, `${samples} samples`);
  }));

Deno.test(
  "export otlp: the published protocol decodes it and writes the same bytes",
  ignored(noModules("opentelemetry.proto.profiles.v1development.profiles_pb2")),
  () =>
    inFolder(async (folder) => {
      const file = `${folder}/a.otlp`;
      await tool("export", ["otlp", "-o", file, `${recorded}callchain.perf.data`]);
      const script = `
import sys
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
data = open(sys.argv[1], "rb").read()
of = ProfilesData.FromString(data)
again = of.SerializeToString()
of.DiscardUnknownFields()
table = of.dictionary.string_table
print(len(data), len(again), len(of.SerializeToString()))
for profile in of.resource_profiles[0].scope_profiles[0].profiles:
    print(table[profile.sample_type.type_strindex], sum(v for s in profile.samples for v in s.values))
`;
      const { success, stdout, stderr } = new Deno.Command(python, { args: ["-c", script, file] })
        .outputSync();
      assert(success, new TextDecoder().decode(stderr));
      const { size } = Deno.statSync(file);
      assertEquals(
        new TextDecoder().decode(stdout),
        `${size} ${size} ${size}\nsamples 13\ncpu-clock 6503250\n`,
      );
    }),
);
