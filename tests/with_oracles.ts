// Uses Deno
/**
 * Prints, one per line, the test files that start other programs than Deno or read the corpus,
 * directly or through shared modules. The other test files give the same result on every machine.
 *
 * usage: deno run --allow-read tests/with_oracles.ts
 */
const root = new URL("../", import.meta.url);
const ASKING = /PERFDATA_CORPUS|new Deno\.Command\((?!\s*Deno\.execPath\(\))/;
const SHARED = /^(tests|fixtures|publish)\/|testing/;
const known = new Map<string, boolean>();

/** Whether a module, or a test module that it imports, needs other programs or the corpus. */
function needsOracles(path: string): boolean {
  const before = known.get(path);
  if (before !== undefined) return before;
  known.set(path, false);
  const url = new URL(path, root);
  const text = Deno.readTextFileSync(url);
  const found = ASKING.test(text) ||
    [...text.matchAll(/(?:from|import\() ?"(\.[^"]*\.tsx?)"/g)]
      .map(([, to = ""]) => new URL(to, url).pathname.slice(root.pathname.length))
      .some((to) => SHARED.test(to) && needsOracles(to));
  known.set(path, found);
  return found;
}

/** Test files below a folder. */
function* testsBelow(folder: string): Generator<string, void, void> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    if (isDirectory && name !== "node_modules") yield* testsBelow(`${folder}${name}/`);
    else if (/_test\.tsx?$/.test(name)) yield folder + name;
  }
}

for (const folder of ["packages/", "tests/", "view/"]) {
  for (const path of testsBelow(folder)) if (needsOracles(path)) console.log(path);
}
