/**
 * Runs `deno doc --lint` on every package and fails on its findings, and if the main entry points
 * together export too many names. Rarely used names belong under a sub-path.
 *
 * Two kinds of findings are no errors here: types of structures are derived from their declarations
 * (`no-slow-types`), which are private constants beside them (`private-type-ref` to a name in
 * capitals).
 */
const root = new URL("../../", import.meta.url);
const { workspace } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", root)));
// All packages in one run: a type that one package uses from another is public, which separate runs
// miss.
const entries = (workspace as string[]).flatMap((member) => {
  const config = JSON.parse(Deno.readTextFileSync(new URL(`${member}/deno.json`, root)));
  return Object.values(config.exports as Record<string, string>).map((path) => `${member}/${path}`);
});
const { stderr } = await new Deno.Command(Deno.execPath(), {
  args: ["doc", "--lint", ...entries],
  cwd: root,
  env: { NO_COLOR: "1" },
  stdout: "null",
  stderr: "piped",
}).output();
let errors = 0;
for (const finding of new TextDecoder().decode(stderr).split(/^(?=error)/m)) {
  if (!finding.startsWith("error[")) continue;
  if (finding.startsWith("error[no-slow-types]")) continue;
  if (/^error\[private-type-ref\].* references private type '[A-Z0-9_]+'/.test(finding)) continue;
  console.error(finding.trimEnd());
  errors++;
}
console.log(`doc lint: ${errors} errors in ${workspace.length} packages`);

/** Limit of the names of a door: more are not looked through. */
const MOST_NAMES = 265;
const { stdout } = await new Deno.Command(Deno.execPath(), {
  args: ["doc", "--json", ...entries],
  cwd: root,
  stderr: "null",
}).output();
const { nodes } = JSON.parse(new TextDecoder().decode(stdout)) as {
  nodes: Record<string, { symbols: { name: string }[] }>;
};
let names = 0;
let most = 0;
for (const [door, { symbols }] of Object.entries(nodes)) {
  names += symbols.length;
  most = Math.max(most, symbols.length);
  if (symbols.length > MOST_NAMES) {
    console.error(`${door}: ${symbols.length} names, at most ${MOST_NAMES}`);
  }
}
console.log(
  `public names: ${names} behind ${Object.keys(nodes).length} doors, at most ${most} each`,
);
Deno.exit(errors === 0 && names > 0 && most <= MOST_NAMES ? 0 : 1);
