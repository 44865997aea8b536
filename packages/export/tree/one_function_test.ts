/** Each format has one entry for a function that is inlined in some places and called in others. */
import { assert, assertEquals } from "@std/assert";
import { type Profile, ProfileBuilder } from "@perfdata/profile";
import { Profile as PprofProfile } from "pprof-format";
import { callgrind } from "../formats/callgrind.ts";
import { chrome } from "../formats/chrome.ts";
import { firefox } from "../formats/firefox.ts";
import { pprof } from "../formats/pprof.ts";
import { speedscope } from "../formats/speedscope.ts";
import { bytesOf, plainSamples, profileOf, textOf } from "../testing.ts";

const PROFILE = profileOf(plainSamples(2000, 5));

/** The functions of a profile by object and name. */
function functionsOf({ functions, objects }: Profile): string[] {
  const all = functions.name.map((name, i) =>
    `${objects[functions.object[i] ?? -1]?.path} ${name}`
  );
  const each = new Set(all);
  assert(each.size > 40 && all.length > each.size, "none is inlined and called: a poor test");
  return [...each].sort();
}

const FUNCTIONS = functionsOf(PROFILE);

Deno.test("pprof: each function has one Function, each line its own entry", async () => {
  const { function: all, location, mapping, stringTable } = PprofProfile.decode(
    await bytesOf(pprof(PROFILE)),
  );
  const text = (at: number | bigint) => stringTable.strings[Number(at)] ?? "";
  const fileOf = new Map(mapping.map(({ id, filename }) => [id, text(filename)]));
  const used = new Set<string>();
  const names = new Map(all.map(({ id, name }) => [id, text(name)]));
  for (const { line, mappingId } of location) {
    for (const { functionId } of line) {
      used.add(`${fileOf.get(mappingId)} ${names.get(functionId)}`);
    }
  }
  assertEquals([...used].sort(), FUNCTIONS);
  assertEquals(all.length, FUNCTIONS.length);
});

Deno.test("firefox: each function has one row in funcTable", async () => {
  const { shared: { funcTable, resourceTable, frameTable, stringArray } } = JSON.parse(
    await textOf(firefox(PROFILE)),
  );
  assertEquals(funcTable.length, FUNCTIONS.length);
  const rows = funcTable.name.map((name: number, row: number) =>
    `${stringArray[resourceTable.name[funcTable.resource[row]]]} ${stringArray[name]}`
  );
  assertEquals(new Set(rows).size, rows.length);
  // Inlining is a property of frames.
  const depths = new Map<number, Set<number>>();
  frameTable.func.forEach((row: number, frame: number) =>
    depths.set(row, (depths.get(row) ?? new Set()).add(frameTable.inlineDepth[frame]))
  );
  assert([...depths.values()].some((found) => found.size === 2));
});

Deno.test("callgrind: each function has one fn", async () => {
  const names = new Map<string, string>(), numbers = new Map<string, Set<string>>();
  let object = "", called = "";
  const add = (kind: string, where: string) => {
    const [, number = "", name] = /^\((\d+)\)(?: (.*))?$/s.exec(kind) ?? [];
    if (name !== undefined) names.set(number, name);
    const key = `${where} ${names.get(number)}`;
    numbers.set(key, (numbers.get(key) ?? new Set()).add(number));
  };
  const objectOf = (text: string) => /^\((\d+)\)/.exec(text)?.[1] ?? "";
  let blocks = 0;
  for (const line of (await textOf(callgrind(PROFILE))).split("\n")) {
    const [, key, value = ""] = /^(ob|fn|cob|cfn)=(.*)$/.exec(line) ?? [];
    if (key === "ob") object = objectOf(value);
    else if (key === "cob") called = objectOf(value);
    else if (key === "fn" && value.startsWith("(")) {
      add(value, object);
      blocks++;
    } else if (key === "cfn") add(value, called);
  }
  assertEquals([...numbers].filter(([, found]) => found.size !== 1), []);
  assertEquals([numbers.size, blocks], [FUNCTIONS.length, FUNCTIONS.length]);
});

Deno.test("speedscope: each function has one frame", async () => {
  const { shared } = JSON.parse(await textOf(speedscope(PROFILE)));
  assertEquals(shared.frames.length, FUNCTIONS.length);
});

Deno.test("chrome: a slice continues if its function is inlined in the next sample", async () => {
  const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
  const object = builder.object({ name: "demo", path: "/demo" });
  const thread = builder.thread(7, 7, "demo");
  const main = builder.stack(-1, builder.place(object, 0x10, [{ name: "main", kind: 0 }]));
  const called = builder.place(object, 0x20, [{ name: "work", kind: 0 }]);
  const inlined = builder.place(object, 0x14, [{ name: "work", kind: 4 }, {
    name: "main",
    kind: 0,
  }]);
  const stacks = [builder.stack(main, called), builder.stack(-1, inlined)];
  for (let i = 0; i < 6; i++) {
    builder.sample({
      stack: stacks[i % 2] as number,
      event: 0,
      thread,
      period: 1,
      time: 1e9 + i * 1e6,
    });
  }
  const { traceEvents } = JSON.parse(await textOf(chrome(builder.profile())));
  const slices = traceEvents.filter(({ ph }: { ph: string }) => ph === "X");
  assertEquals(
    slices.map((
      { name, args }: { name: string; args: { samples: number } },
    ) => [name, args.samples]),
    [["main", 6], ["work", 6]],
  );
});
