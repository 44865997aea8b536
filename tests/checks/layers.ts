/**
 * Checks imports: a package imports only from the layers below it, `tools/` and `view/` import packages by
 * their names, and no package imports from `tools/`, `view/`, `tests/`, `bench/` or, except in modules whose
 * first line says that they use Deno, from `node:`, not even while it runs. No more than three modules import
 * each other in a ring; types count, too.
 *
 * Tests are free to import anything.
 */
const root = new URL("../../", import.meta.url);

/** The layers, the lowest first: docs/architecture.md. */
const LAYERS: readonly (readonly string[])[] = [
  ["format"],
  ["user-records", "intel-pt", "symbols"],
  ["session"],
  ["pt"],
  ["profile"],
  ["dump", "report", "export", "edit", "tables"],
  ["perfdata"],
  // Built from view/, which imports the others.
  ["page"],
];

const layerOf = new Map(LAYERS.flatMap((names, layer) => names.map((name) => [name, layer])));

function* modules(folder: URL): Generator<URL, void, void> {
  for (const entry of Deno.readDirSync(folder)) {
    const url = new URL(entry.name + (entry.isDirectory ? "/" : ""), folder);
    if (entry.isDirectory) yield* modules(url);
    else if (/\.tsx?$/.test(entry.name) && !/(_test|_bench|testing)\.tsx?$/.test(entry.name)) {
      yield url;
    }
  }
}

/** Modules that a module imports statically or dynamically. */
function imports(text: string): string[] {
  const code = text.replace(/^ *\*.*$/gm, "").replace(/^ *\/\/.*$/gm, "");
  const found = [
    ...code.matchAll(/^(?:import|export)\b[^;]*?\bfrom "([^"]+)"/gms),
    ...code.matchAll(/^import "([^"]+)"/gm),
    ...code.matchAll(/\bimport\("([^"]+)"\)/g),
  ];
  return found.map(([, specifier]) => specifier ?? "");
}

/** Maximum number of modules that import each other in a ring. */
const LONGEST_RING = 3;

/** Relative imports of each module. */
const relative = new Map<string, string[]>();

/** Rings of modules: the strongly connected components, by Tarjan's algorithm. */
function rings(): string[][] {
  const found: string[][] = [];
  const number = new Map<string, number>();
  const open: string[] = [];
  const visit = (path: string): number => {
    let lowest = number.size;
    number.set(path, lowest);
    open.push(path);
    for (const next of relative.get(path) ?? []) {
      if (!number.has(next)) lowest = Math.min(lowest, visit(next));
      else if (open.includes(next)) lowest = Math.min(lowest, number.get(next) ?? lowest);
    }
    if (lowest === number.get(path)) found.push(open.splice(open.indexOf(path)));
    return lowest;
  };
  for (const path of relative.keys()) if (!number.has(path)) visit(path);
  return found;
}

const faults: string[] = [];
let checked = 0;

function check(url: URL, own: string): void {
  const path = url.pathname.slice(root.pathname.length);
  const text = Deno.readTextFileSync(url);
  const usesDeno = /^\/\/ Uses Deno\b/.test(text);
  const layer = layerOf.get(own);
  const near: string[] = [];
  relative.set(path, near);
  checked++;
  for (const specifier of imports(text)) {
    const fault = (why: string) => faults.push(`${path}: imports ${specifier}: ${why}`);
    if (specifier.startsWith(".")) {
      const target = new URL(specifier, url).pathname.slice(root.pathname.length);
      near.push(target);
      const inside = /^packages\/([^/]+)\//.exec(target)?.[1];
      if (layer === undefined) {
        if (inside !== undefined) fault("packages go by their names");
      } else if (inside !== own) {
        fault("a package's modules import their own relatively, no others");
      }
      continue;
    }
    if (specifier.startsWith("node:") && layer !== undefined && !usesDeno) {
      fault("this package runs in any JavaScript runtime");
    }
    const name = /^@perfdata\/([^/]+)/.exec(specifier)?.[1];
    if (name === undefined || layer === undefined) continue;
    const below = layerOf.get(name);
    if (below === undefined) fault("its package has no layer in tests/checks/layers.ts");
    else if (name === own) fault("a package's modules import their own relatively");
    else if (below >= layer) fault(`${name} is not below ${own}`);
  }
}

for (const { name } of Deno.readDirSync(new URL("packages/", root))) {
  if (!layerOf.has(name)) faults.push(`packages/${name}: has no layer in tests/checks/layers.ts`);
  for (const url of modules(new URL(`packages/${name}/`, root))) check(url, name);
}
for (const host of ["tools", "view"]) {
  for (const url of modules(new URL(`${host}/`, root))) check(url, host);
}

for (const ring of rings()) {
  if (ring.length > LONGEST_RING) {
    faults.push(`${ring.length} modules import each other: ${ring.join(", ")}`);
  }
}

for (const fault of faults) console.error(fault);
console.log(`layers: ${checked} modules checked, ${faults.length} faults`);
if (faults.length > 0) Deno.exit(1);
