/**
 * Imports of packages by their doors, as imports of the modules behind them.
 *
 * A bundler that splits code into files counts a module as used by all that import its door. With
 * direct imports, each file has only the modules that it uses.
 */

/** The modules behind the doors: by name of the door, then by name of the export. */
export type Doors = ReadonlyMap<string, ReadonlyMap<string, string>>;

const EXPORTS = /^export \{([^{}]*)\} from "(\.[^"\n]+)";$/gm;
const STARS = /^export \* from "(\.[^"\n]+)";$/gm;
const DECLARED = /^export (?:abstract |async )*(?:function\*?|class|const|let) ([\w$]+)/gm;
const IMPORTS = /^import \{([^{}]*)\} from "(@perfdata\/[^"\n]+)";$/gm;

/** Returns the names in braces: the exported name, and the local name. Types are left out. */
function namesIn(list: string): { readonly name: string; readonly as: string }[] {
  return list.split(",").map((of) => of.trim()).filter((of) => of !== "" && !of.startsWith("type "))
    .map((of) => {
      const [name = "", as = name] = of.split(" as ");
      return { name, as };
    });
}

/**
 * Returns the exports of a door that other modules define under the same name.
 *
 * @param path Path of the door from the root, such as `packages/format/doors/bytes.ts`.
 * @param textOf Returns the text of a module.
 */
export function exportsOf(path: string, textOf: (path: string) => string): Map<string, string> {
  const found = new Map<string, string>();
  const text = textOf(path);
  const fileOf = (from: string) => new URL(from, `file:///${path}`).pathname.slice(1);
  for (const [, list = "", from = ""] of text.matchAll(EXPORTS)) {
    for (const { name, as } of namesIn(list)) if (name === as) found.set(name, fileOf(from));
  }
  for (const [, from = ""] of text.matchAll(STARS)) {
    const file = fileOf(from);
    for (const [, name = ""] of textOf(file).matchAll(DECLARED)) found.set(name, file);
    for (const [name, of] of exportsOf(file, textOf)) found.set(name, of);
  }
  return found;
}

/**
 * Replaces imports by doors; imports that are not known from the doors stay.
 *
 * @param path Path of the module from the root.
 */
export function directImports(text: string, path: string, doors: Doors): string {
  const up = "../".repeat(path.split("/").length - 1);
  return text.replace(IMPORTS, (statement, list: string, door: string) => {
    const files = doors.get(door);
    if (files === undefined) return statement;
    const names = namesIn(list);
    return names.map(({ name, as }) => {
      const file = files.get(name);
      const own = name === as ? name : `${name} as ${as}`;
      return `import { ${own} } from "${file === undefined ? door : up + file}";`;
    }).join(" ");
  });
}
