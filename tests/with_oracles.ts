// Uses Deno
const ROOT = new URL("../", import.meta.url);
const ASKING = /PERFDATA_CORPUS|new Deno\.Command\((?!\s*Deno\.execPath\(\))/;
const SHARED = /^(tests|fixtures|publish)\/|testing/;

/**
 * The test files that start other programs than Deno or read the corpus, directly or through shared
 * modules. The other test files give the same result on every machine.
 */
export function withOracles(files: readonly string[]): string[] {
  const known = new Map<string, boolean>();
  const needsOracles = (path: string): boolean => {
    const before = known.get(path);
    if (before !== undefined) return before;
    known.set(path, false);
    const url = new URL(path, ROOT);
    const text = Deno.readTextFileSync(url);
    const found = ASKING.test(text) ||
      [...text.matchAll(/(?:from|import\() ?"(\.[^"]*\.tsx?)"/g)]
        .map(([, to = ""]) => new URL(to, url).pathname.slice(ROOT.pathname.length))
        .some((to) => SHARED.test(to) && needsOracles(to));
    known.set(path, found);
    return found;
  };
  return files.filter(needsOracles);
}
