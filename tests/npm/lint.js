// What publint and attw say of tarballs: prints problems, then the number of entry points that were looked at.
import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";

/** How packages without CommonJS are not imported. */
const OTHERS = new Set(["node10", "node16-cjs"]);

let entries = 0;
for (const path of process.argv.slice(2)) {
  const tarball = Uint8Array.from(readFileSync(path));
  const { messages } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  const { problems, entrypoints } = await checkPackage(createPackageFromTarballData(tarball));
  entries += Object.keys(entrypoints).length;
  const wrong = [
    ...messages,
    ...problems.filter(({ resolutionKind }) => !OTHERS.has(resolutionKind)),
  ];
  for (const problem of wrong) console.log(path, JSON.stringify(problem));
}
console.log(`${entries} entry points`);
