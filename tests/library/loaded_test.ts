/**
 * Commands load only the modules that a plain question needs; other modules are loaded when an
 * option needs them, and the job itself is not loaded for a help text.
 */
import { assert, assertEquals } from "@std/assert";
import { entries } from "../../tools/perfdata.ts";

const root = new URL("../../", import.meta.url).pathname;

/** A module as `deno info --json` describes it. */
interface Module {
  readonly specifier: string;
  readonly size?: number;
  readonly dependencies?: readonly {
    readonly isDynamic?: boolean;
    readonly code?: { readonly specifier?: string };
  }[];
}

/**
 * The modules of the project that are loaded before the first line of a command runs, with their
 * sizes.
 */
function loaded(command: string): Map<string, number> {
  const { stdout, success } = new Deno.Command(Deno.execPath(), {
    args: ["info", "--lock=deno.dev.lock", "--json", `tools/${command}.ts`],
    cwd: root,
    stderr: "null",
  }).outputSync();
  assert(success);
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as { modules: Module[] };
  const known = new Map(modules.map((module) => [module.specifier, module]));
  const found = new Map<string, number>();
  const next = [`file://${root}tools/${command}.ts`];
  for (let of = next.pop(); of !== undefined; of = next.pop()) {
    const module = known.get(of);
    const name = of.startsWith(`file://${root}`) ? of.slice(7 + root.length) : of;
    if (module === undefined || found.has(name)) continue;
    found.set(name, module.size ?? 0);
    for (const { isDynamic, code } of module.dependencies ?? []) {
      if (isDynamic !== true && code?.specifier !== undefined) next.push(code.specifier);
    }
  }
  return found;
}

function sumOf(modules: ReadonlyMap<string, number>): number {
  return modules.values().reduce((sum, size) => sum + size, 0);
}

Deno.test("help: no command loads its job or an engine", () => {
  for (const { name } of entries) {
    const modules = [...loaded(name.replaceAll("-", "_")).keys()];
    assert(modules.includes("tools/shared/flag_table.ts"), name);
    const others = modules.filter((module) => !/^(tools|packages\/format|npm:)\b/.test(module));
    assertEquals([...others, ...modules.filter((module) => module.includes("/run/"))], [], name);
    assert(modules.length <= 55, `${name}: ${modules.length} modules`);
  }
});

/** Modules that only some questions need. */
const RARE =
  /^packages\/(symbols\/(dwarf|cfi|mod\.ts)|user-records\/mod|dump|intel-pt|tables|edit|export|session\/auxtrace)/;
const PLAIN = /^packages\/symbols\/cfi\/walk_end\.ts$/;

Deno.test("funcs: a plain question loads no modules for debug information, unwinding and rare records", () => {
  const modules = loaded("run/funcs");
  const rare = [...modules.keys()].filter((name) => RARE.test(name) && !PLAIN.test(name));
  console.log(`${modules.size} modules, ${Math.round(sumOf(modules) / 1000)} KB`);
  assertEquals(rare, []);
  assert(modules.size > 100, "too little was looked at");
  assert(modules.size <= 330, "a door leads to more than a plain question needs");
});

/** What only some questions of Intel PT need: debug information, exports, copies, text of records. */
const RARE_OF_PT = /^packages\/(symbols\/dwarf\/(dwarf_context|unit)\.ts|export|dump|edit|tables)/;

Deno.test("pt: does not load modules for debug information, exports and text of records", () => {
  const modules = loaded("run/pt");
  console.log(`${modules.size} modules, ${Math.round(sumOf(modules) / 1000)} KB`);
  assertEquals([...modules.keys()].filter((name) => RARE_OF_PT.test(name)), []);
  assert(modules.size > 100, "too little was looked at");
});

Deno.test("header: the front door loads no engine, profile or symbols before the first question", () => {
  const modules = [...loaded("run/header").keys()];
  assert(modules.includes("packages/perfdata/recording.ts"));
  const early = modules.filter((name) => /^packages\/(?!format\/|perfdata\/)/.test(name));
  assertEquals(early, []);
});
