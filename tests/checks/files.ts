/**
 * Checks the names of all files of the repository, and what each package needs to be published: names
 * that Windows reserves or that differ by case only cannot be checked out everywhere, and JSR and npm
 * refuse them.
 */
const root = new URL("../../", import.meta.url);
const config = JSON.parse(Deno.readTextFileSync(new URL("deno.json", root)));

/** Device names of Windows, whatever their extension (learn.microsoft.com, "Naming Files"). */
const RESERVED = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;
/** Characters that a name on Windows must not contain or end with. */
// deno-lint-ignore no-control-regex
const INVALID = /[<>:"|?*\\\u0000-\u001f]|[ .]$/;

/** Errors in a list of paths, whose parts are separated by `/`. */
export function badNames(paths: readonly string[]): string[] {
  const problems: string[] = [];
  const seen = new Map<string, string>();
  for (const path of paths) {
    const parts = path.split("/");
    for (const part of parts) {
      if (RESERVED.test(part)) problems.push(`${path}: Windows reserves the name ${part}`);
      if (INVALID.test(part)) problems.push(`${path}: Windows does not allow the name ${part}`);
    }
    parts.forEach((_, i) => {
      const prefix = parts.slice(0, i + 1).join("/");
      const other = seen.get(prefix.toLowerCase());
      if (other !== undefined && other !== prefix) {
        problems.push(`${path}: differs from ${other} by case only`);
      }
      seen.set(prefix.toLowerCase(), prefix);
    });
  }
  return [...new Set(problems)];
}

/** File names that may occur in each folder: entry points, and helpers of its tests. */
const IN_EACH_FOLDER = /^(mod|testing|deno|README|LICENSE)\.|_test\.tsx?$/;

/**
 * Names of two files in packages, in tools/shared or in view/, which make a search by name
 * ambiguous.
 */
export function sameNames(paths: readonly string[]): string[] {
  const seen = new Map<string, string>();
  const problems: string[] = [];
  for (const path of paths) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (!/^(packages|tools\/shared|view)\/.*\.tsx?$/.test(path) || IN_EACH_FOLDER.test(name)) {
      continue;
    }
    // Doors are called what their export path is.
    if (/^packages\/[^/]+\/doors\//.test(path)) continue;
    const other = seen.get(name);
    if (other !== undefined) problems.push(`${path}: has the same name as ${other}`);
    seen.set(name, path);
  }
  return problems;
}

function files(folder: URL, prefix: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap((entry) => {
    const path = `${prefix}${entry.name}`;
    if (entry.name === ".git" || path === "build" || path === "coverage") return [];
    if (!entry.isDirectory) return [path];
    return files(new URL(`${entry.name}/`, folder), `${path}/`);
  });
}

/** Limit of the doors, that is, export paths, of all packages. */
const MOST_DOORS = 40;

/** The export paths of a package. */
function doors(member: string): Readonly<Record<string, string>> {
  return JSON.parse(Deno.readTextFileSync(new URL(`${member}/deno.json`, root))).exports ?? {};
}

/** Files or fields that a package lacks. */
function packageProblems(member: string): string[] {
  const folder = new URL(`${member}/`, root);
  const { name, license, exports, publish } = JSON.parse(
    Deno.readTextFileSync(new URL("deno.json", folder)),
  );
  const problems: string[] = [];
  if (Object.keys(exports ?? {}).length === 0) return problems;
  if (license !== "MIT") problems.push(`${name}: no license in deno.json`);
  if (!publish?.exclude?.includes("**/*_test.ts")) problems.push(`${name}: publishes its tests`);
  for (const [path, file] of Object.entries(doors(member))) {
    if (!/^\.(\/[a-z0-9]+(-[a-z0-9]+)*)?$/.test(path)) {
      problems.push(`${name}: export path ${path} is not in kebab case`);
    }
    const door = path === "." ? "./mod.ts" : `./doors/${path.slice(2).replaceAll("-", "_")}.ts`;
    if (file !== door) problems.push(`${name}: export path ${path} is ${file}, not ${door}`);
  }
  try {
    const readme = Deno.readTextFileSync(new URL("README.md", folder));
    if (!readme.startsWith(`# ${name}\n\n`)) problems.push(`${name}: README.md has another title`);
  } catch {
    problems.push(`${name}: no README.md`);
  }
  return problems;
}

if (import.meta.main) {
  const all = files(root, "");
  const members: string[] = config.workspace;
  const problems = [...badNames(all), ...sameNames(all), ...members.flatMap(packageProblems)];
  const open = members.reduce((sum, member) => sum + Object.keys(doors(member)).length, 0);
  if (open > MOST_DOORS) {
    problems.push(
      `${open} export paths, at most ${MOST_DOORS}: a name goes to a door that is there`,
    );
  }
  for (const problem of problems) console.error(problem);
  console.log(
    `files: ${all.length} names and ${members.length} packages checked, ${open} doors of at most ${MOST_DOORS}`,
  );
  if (problems.length > 0) Deno.exit(1);
}
