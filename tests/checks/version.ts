/**
 * Checks that all packages have one version, and that the changelog knows it.
 *
 *     deno run --allow-read tests/checks/version.ts            one version, as it is
 *     deno run --allow-read tests/checks/version.ts 0.2.0      and it is this one, with its changes
 *     deno run -A tests/checks/version.ts --set 0.2.0          makes it this one
 */
const root = new URL("../../", import.meta.url);
const [first, second] = Deno.args;
const wanted = first === "--set" ? second : first;
const semver = /^\d+\.\d+\.\d+(-[0-9a-z.-]+)?$/;
const errors: string[] = [];
if (wanted !== undefined && !semver.test(wanted)) errors.push(`${wanted} is no version`);

const { workspace } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", root)));
const versions = new Map<string, string>();
for (const member of workspace as string[]) {
  const url = new URL(`${member}/deno.json`, root);
  let text = Deno.readTextFileSync(url);
  if (first === "--set" && errors.length === 0) {
    text = text.replace(/("version": ")[^"]*/, `$1${wanted}`);
    Deno.writeTextFileSync(url, text);
  }
  versions.set(member, JSON.parse(text).version);
}
const [version = "none"] = versions.values();
for (const [member, own] of versions) {
  if (own !== version) errors.push(`${member} has version ${own}, others ${version}`);
}
if (wanted !== undefined && first !== "--set") {
  if (version !== wanted) errors.push(`the packages have version ${version}, not ${wanted}`);
  const changes = Deno.readTextFileSync(new URL("CHANGELOG.md", root));
  if (!changes.split("\n").some((line) => line.startsWith(`## [${wanted}] - `))) {
    errors.push(`CHANGELOG.md has no "## [${wanted}] - DATE"`);
  }
}
for (const error of errors) console.error(error);
console.log(`version: ${version} in ${versions.size} packages`);
Deno.exit(errors.length === 0 ? 0 : 1);
