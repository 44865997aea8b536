// Uses Deno
/**
 * Prints the files of tests that compare with what is not on every machine, a line each: those that start other
 * programs than Deno or read the corpus, themselves or by what they share with others. The rest finds the same
 * whether such things are there or not.
 *
 * usage: deno run --allow-read tests/with_oracles.ts
 */
const root = new URL("../", import.meta.url);
const ASKING = /PERFDATA_CORPUS|new Deno\.Command\((?!\s*Deno\.execPath\(\))/;
const SHARED = /^(tests|fixtures|publish)\/|testing/;
const known = new Map<string, boolean>();

/** Whether a module, or one of tests that it imports, asks for such a thing. */
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

/** Files of tests below a folder. */
function* testsBelow(folder: string): Generator<string, void, void> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    if (isDirectory && name !== "node_modules") yield* testsBelow(`${folder}${name}/`);
    else if (/_test\.tsx?$/.test(name)) yield folder + name;
  }
}

for (const folder of ["packages/", "tests/", "view/"]) {
  for (const path of testsBelow(folder)) if (needsOracles(path)) console.log(path);
}
