/**
 * Type-checks the packages without Deno's and Node's types: what they export has to run in any
 * JavaScript runtime, a browser tab included.
 *
 * The exceptions are modules whose first line says that they use Deno. No other module may import
 * one of them, or a `node:` module.
 */
const root = new URL("../../", import.meta.url);
const config = JSON.parse(Deno.readTextFileSync(new URL("deno.json", root)));

const neutral: string[] = [];
const exceptions: string[] = [];
function collect(folder: URL) {
  for (const entry of Deno.readDirSync(folder)) {
    const url = new URL(entry.name + (entry.isDirectory ? "/" : ""), folder);
    if (entry.isDirectory) {
      if (entry.name !== "testing") collect(url);
      continue;
    }
    if (!entry.name.endsWith(".ts") || /_(test|bench)\.ts$|(^|_)testing\.ts$/.test(entry.name)) {
      continue;
    }
    const [first] = Deno.readTextFileSync(url).split("\n", 1);
    (/^\/\/ Uses Deno\b/.test(first ?? "") ? exceptions : neutral).push(url.pathname);
  }
}
for (const member of config.workspace as string[]) collect(new URL(`${member}/`, root));

let failed = false;
for (const path of neutral) {
  const text = Deno.readTextFileSync(path);
  for (const [, specifier] of text.matchAll(/^(?:import|export)[^;]*?from "([^"]+)"/gms)) {
    const target = specifier?.startsWith(".")
      ? new URL(specifier, `file://${path}`).pathname
      : specifier ?? "";
    if (target.startsWith("node:") || exceptions.includes(target)) {
      console.error(`${path}: imports ${specifier}, which needs a server-side runtime`);
      failed = true;
    }
  }
}

// A separate configuration with the same import map, but only the types of a browser and of Node
// 20's language version.
const folder = Deno.makeTempDirSync({ prefix: "perfdata-neutral-" });
try {
  const imports: Record<string, string> = { ...config.imports };
  for (const member of config.workspace as string[]) {
    const { name, exports } = JSON.parse(
      Deno.readTextFileSync(new URL(`${member}/deno.json`, root)),
    );
    for (const [path, file] of Object.entries(exports as Record<string, string>)) {
      imports[name + path.slice(1)] = new URL(`${member}/${file}`, root).href;
    }
  }
  const path = `${folder}/deno.json`;
  Deno.writeTextFileSync(
    path,
    JSON.stringify({
      imports,
      compilerOptions: {
        ...config.compilerOptions,
        lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"],
        types: [new URL("std.d.ts", root).href],
      },
    }),
  );
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--no-lock", "--config", path, ...neutral],
    env: { NO_COLOR: "1" },
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    console.error(new TextDecoder().decode(stderr).replace(/^Check .*\n/gm, ""));
    failed = true;
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}
console.log(
  `neutral rooms: ${neutral.length} modules checked, ${exceptions.length} named exceptions`,
);
Deno.exit(failed ? 1 : 0);
