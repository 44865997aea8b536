/**
 * Prints the public API, one line per name: package, kind, name and declaration. A `diff` of the
 * lists of two commits shows the changes that users of the packages notice.
 *     deno run -A tests/checks/api.ts > api.txt
 */
const root = new URL("../../", import.meta.url);
const { workspace } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", root)));

/** The used fields of a name in `deno doc --json`. */
interface Declaration {
  readonly declarationKind: string;
  readonly kind: string;
  readonly def?: unknown;
}

/** A declaration without source positions and comments. */
function signature(def: unknown): string {
  return JSON.stringify(
    def,
    (key, value) =>
      ["location", "jsDoc", "filename", "decorators"].includes(key) ? undefined : value,
  );
}

/** A short hash of a declaration. */
async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(bytes).toHex().slice(0, 12);
}

const lines: string[] = [];
for (const member of workspace as string[]) {
  const { name, exports = {} } = JSON.parse(
    Deno.readTextFileSync(new URL(`${member}/deno.json`, root)),
  );
  const doors = typeof exports === "string" ? { ".": exports } : exports as Record<string, string>;
  for (const [door, file] of Object.entries(doors)) {
    const path = new URL(`${member}/${file}`, root);
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["doc", "--json", path.pathname],
    }).output();
    if (!success) throw new Error(`${path.pathname}: ${new TextDecoder().decode(stderr).trim()}`);
    const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
    const { symbols = [] } = nodes[path.href] ?? {};
    for (const symbol of symbols as { name: string; declarations: Declaration[] }[]) {
      for (const { kind, declarationKind, def } of symbol.declarations) {
        if (declarationKind !== "export") continue;
        lines.push(
          `${name}${door.slice(1)} ${kind} ${symbol.name} ${await digest(signature(def))}`,
        );
      }
    }
  }
}
if (lines.length === 0) throw new Error("no public name was found: deno doc has another form");
console.log(lines.sort().join("\n"));
