/**
 * Lock files. A run downloads every package of its lock file, so `deno.lock` holds only what
 * commands import. `deno.dev.lock` also holds what tests and the build of npm packages need. `sql`
 * has `deno.sql.lock`, since its engine is 70 MB and a separate process.
 */
import { assert, assertEquals } from "@std/assert";

interface Lock {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

const read = (name: string) =>
  JSON.parse(Deno.readTextFileSync(new URL(`../../${name}`, import.meta.url)));

Deno.test("locks: the commands' lock file has their imports in the versions that tests use", () => {
  const [commands, development]: [Lock, Lock] = [read("deno.lock"), read("deno.dev.lock")];
  const imported = Object.values(read("deno.json").imports as Record<string, string>)
    .flatMap((target) => /^npm:((?:@[^/]+\/)?[^/@]+@[^/]+)/.exec(target)?.[1] ?? []);
  assertEquals(Object.keys(commands.npm).sort(), [...new Set(imported)].sort());
  for (const [name, { integrity }] of Object.entries(commands.npm)) {
    assertEquals(development.npm[name]?.integrity, integrity, name);
  }
  assert(Object.keys(development.npm).length > Object.keys(commands.npm).length);
});

Deno.test("locks: only the lock file of sql has the SQL engine", () => {
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
