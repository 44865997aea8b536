/**
 * Imports of packages by their doors, as imports of the modules behind them.
 *
 * A bundler that splits code into files counts a module as used by all that import its door. With
 * direct imports, each file has only the modules that it uses.
 */

/** The modules behind the doors: by name of the door, then by name of the export. */
export type Doors = ReadonlyMap<string, ReadonlyMap<string, string>>;

const EXPORTS = /^export \{([^{}]*)\} from "(\.[^"\n]+)";$/gm;
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
 * @param text Text of the door.
 * @param path Its path from the root, such as `packages/format/doors/bytes.ts`.
 */
export function exportsOf(text: string, path: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, list = "", from = ""] of text.matchAll(EXPORTS)) {
    const file = new URL(from, `file:///${path}`).pathname.slice(1);
    for (const { name, as } of namesIn(list)) if (name === as) found.set(name, file);
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
