/** Which modules of a package do something when they are loaded: what bundlers must not leave out. */

/** Paths of modules without tests, from the package's folder. */
function* modules(folder: URL, path = ""): Generator<string, void, void> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(path, folder))) {
    if (isDirectory && name !== "testing") yield* modules(folder, `${path}${name}/`);
    if (name.endsWith(".ts") && !/(_test|testing)\.ts$/.test(name)) yield path + name;
  }
}

/**
 * The modules that others of the package import for what they do, and those others.
 *
 * @param folder The package's folder, with a slash at the end.
 * @returns `false` if there are none, as `sideEffects` of `package.json` has it.
 */
export function sideEffectsOf(folder: URL): false | string[] {
  const found = new Set<string>();
  for (const path of modules(folder)) {
    const text = Deno.readTextFileSync(new URL(path, folder));
    for (const [, specifier = ""] of text.matchAll(/^import "(\.[^"]+)"/gm)) {
      found.add(`./${path}`);
      found.add(`.${new URL(specifier, `file:///${path}`).pathname}`);
    }
  }
  return found.size === 0 ? false : [...found].sort();
}
