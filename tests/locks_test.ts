/**
 * Two locks: a run downloads every package of its lock, so that of commands has only what commands
 * import; what tests and the build of npm packages need as well is in `deno.dev.lock`.
 */
import { assert, assertEquals } from "@std/assert";

interface Lock {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

const read = (name: string) =>
  JSON.parse(Deno.readTextFileSync(new URL(`../${name}`, import.meta.url)));

Deno.test("a command downloads what commands import, in the versions that tests ran with", () => {
  const [commands, development]: [Lock, Lock] = [read("deno.lock"), read("deno.dev.lock")];
  const imported = Object.values(read("deno.json").imports as Record<string, string>)
    .flatMap((target) => /^npm:((?:@[^/]+\/)?[^/@]+@[^/]+)/.exec(target)?.[1] ?? []);
  assertEquals(Object.keys(commands.npm).sort(), [...new Set(imported)].sort());
  for (const [name, { integrity }] of Object.entries(commands.npm)) {
    assertEquals(development.npm[name]?.integrity, integrity, name);
  }
  assert(Object.keys(development.npm).length > Object.keys(commands.npm).length);
});
