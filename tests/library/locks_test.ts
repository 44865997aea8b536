/**
 * Two locks: a run downloads every package of its lock, so that of commands has only what commands
 * import; what tests and the build of npm packages need as well is in `deno.dev.lock`. The engine of `sql`
 * has a lock of its own, `deno.sql.lock`, since it is 70 MB and a process of its own.
 */
import { assert, assertEquals } from "@std/assert";

interface Lock {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

const read = (name: string) =>
  JSON.parse(Deno.readTextFileSync(new URL(`../../${name}`, import.meta.url)));

Deno.test("locks: the lock of commands has their imports in the versions of the tests", () => {
  const [commands, development]: [Lock, Lock] = [read("deno.lock"), read("deno.dev.lock")];
  const imported = Object.values(read("deno.json").imports as Record<string, string>)
    .flatMap((target) => /^npm:((?:@[^/]+\/)?[^/@]+@[^/]+)/.exec(target)?.[1] ?? []);
  assertEquals(Object.keys(commands.npm).sort(), [...new Set(imported)].sort());
  for (const [name, { integrity }] of Object.entries(commands.npm)) {
    assertEquals(development.npm[name]?.integrity, integrity, name);
  }
  assert(Object.keys(development.npm).length > Object.keys(commands.npm).length);
});

Deno.test("locks: the SQL engine is in the lock of sql alone", () => {
  const [commands, development, engine]: [Lock, Lock, Lock] = [
    read("deno.lock"),
    read("deno.dev.lock"),
    read("deno.sql.lock"),
  ];
  const source = Deno.readTextFileSync(
    new URL("../../tools/shared/sql_engine.ts", import.meta.url),
  );
  const imported = [...source.matchAll(/"(npm:[^"]+)"/g)].map(([, name]) => name);
  assertEquals(imported, Object.keys(engine.specifiers));
  for (const [name, { integrity }] of Object.entries(engine.npm)) {
    assertEquals(development.npm[name]?.integrity, integrity, name);
    assert(!Object.hasOwn(commands.npm, name), name);
  }
  assert(
    Object.keys(engine.npm).some((name) => name.startsWith("@duckdb/node-bindings-linux-x64@")),
  );
});
