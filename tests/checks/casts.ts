/**
 * Checks that the number of casts of column elements (`as number`) does not grow. Use a `for … of`
 * loop, an accessor or a checked reader instead, and lower the number here.
 *
 * usage: deno run --allow-read tests/checks/casts.ts
 */
const root = new URL("../../", import.meta.url);

/** Limit of casts by folder. */
const MOST: Readonly<Record<string, number>> = {
  "packages/dump/": 5,
  "packages/export/": 230,
  "packages/format/": 133,
  "packages/intel-pt/": 160,
  "packages/perfdata/": 5,
  "packages/profile/": 32,
  "packages/pt/": 315,
  "packages/report/": 7,
  "packages/session/": 586,
  "packages/symbols/": 173,
  "packages/tables/": 7,
  "tools/": 1,
  "view/": 29,
};

/** Source files below a folder, without tests and generated files. */
function* sources(folder: string): Generator<string, void, void> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    if (isDirectory && !/^(node_modules|testing)$/.test(name)) yield* sources(`${folder}${name}/`);
    else if (/\.tsx?$/.test(name) && !/_test\.|testing|_asset/.test(name)) yield folder + name;
  }
}

const folders = [
  ...[...Deno.readDirSync(new URL("packages/", root))].filter(({ isDirectory }) => isDirectory)
    .map(({ name }) => `packages/${name}/`).sort(),
  "tools/",
  "view/",
];
let [all, failed] = [0, false];
for (const folder of folders) {
  let count = 0;
  for (const path of sources(folder)) {
    count += Deno.readTextFileSync(new URL(path, root)).match(/ as number\b/g)?.length ?? 0;
  }
  const most = MOST[folder] ?? 0;
  if (count > most) {
    failed = true;
    console.error(
      `${folder}: ${count} times "as number", at most ${most}: see tests/checks/casts.ts`,
    );
  } else if (count < most) {
    console.log(`${folder}: ${count} times "as number": write that instead of ${most}`);
  }
  all += count;
}
console.log(`casts: ${all} times "as number" in ${folders.length} folders`);
Deno.exit(failed ? 1 : 0);
