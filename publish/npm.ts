/**
 * Makes npm packages: `deno task npm` writes `build/npm/*.tgz`.
 *
 * TypeScript's own compiler turns each package into `.js` and `.d.ts`. Modules that use Deno's API
 * ("Uses Deno" in their first line) are left out, and with them the export paths that need them: Node
 * and browsers bring their own files and threads.
 *
 * The package `perfdata` has the commands as well, as they are here: its `bin` (`bin.js` of this folder)
 * runs them on Deno.
 */
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import ts from "npm:typescript@5.9.3";
import { sideEffectsOf } from "./side_effects.ts";

const root = new URL("../", import.meta.url);

/** The version of Deno that the commands are tested with. */
const DENO = "2.9.6";

/** What `deno.json` of the workspace or of a package has. */
interface Config {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly workspace: readonly string[];
  readonly unstable: readonly string[];
  readonly imports: Readonly<Record<string, string>>;
  readonly tasks: Readonly<Record<string, { readonly command: string }>>;
}

/** A package of the workspace. */
interface Member {
  readonly config: Config;
  /** Its folder, with a slash at the end. */
  readonly folder: URL;
  /** Its export paths whose modules use no Deno API: `./reader` and the module's path. */
  readonly exports: ReadonlyMap<string, string>;
  /** The export paths that are left out. */
  readonly left: readonly string[];
}

function read(url: URL): string {
  return Deno.readTextFileSync(url);
}

/** The text of a module without its documentation, whose examples import as users do. */
function code(path: string): string {
  return read(new URL(`file://${path}`)).replace(/\/\*\*[\s\S]*?\*\//g, "");
}

const SPECIFIER = /((?:\bfrom|\bimport)\s*\(?\s*)(["'])([^"'\n]+)\2/g;

/** All modules that a module imports, itself included, by path. */
function reachable(path: string, resolve: (specifier: string) => string | undefined): Set<string> {
  const found = new Set<string>();
  const visit = (at: string) => {
    if (found.has(at)) return;
    found.add(at);
    for (const [, , , specifier = ""] of code(at).matchAll(SPECIFIER)) {
      const target = specifier.startsWith(".")
        ? new URL(specifier, `file://${at}`).pathname
        : resolve(specifier);
      if (target?.endsWith(".ts")) visit(target);
    }
  };
  visit(path);
  return found;
}

/** The modules that a door has names of, by path. */
function reexported(door: string): string[] {
  return [...code(door).matchAll(/\bexport\b[^;]*?\bfrom "(\.[^"]+)"/g)]
    .map(([, specifier = ""]) => new URL(specifier, `file://${door}`).pathname);
}

/** The packages, in an order in which each comes after those that it imports. */
function members(workspace: Config): Member[] {
  const all = workspace.workspace.flatMap((path) => {
    const folder = new URL(`${path}/`, root);
    const config: Config = JSON.parse(read(new URL("deno.json", folder)));
    return Object.keys(config.exports ?? {}).length === 0 ? [] : [{ config, folder }];
  });
  const paths = new Map(
    all.flatMap(({ config, folder }) =>
      Object.entries(config.exports).map(([path, file]) =>
        [config.name + path.slice(1), new URL(file, folder).pathname] as const
      )
    ),
  );
  return all.map(({ config, folder }) => {
    const exports = new Map<string, string>();
    const left: string[] = [];
    for (const [path, file] of Object.entries(config.exports)) {
      const at = new URL(file, folder).pathname;
      const modules = reachable(at, (specifier) => paths.get(specifier));
      const usesDeno = [...modules].some((module) =>
        /^\/\/ Uses Deno\b/.test(read(new URL(`file://${module}`)))
      );
      if (usesDeno) left.push(path);
      else exports.set(path, at);
    }
    return { config, folder, exports, left };
  });
}

/** A dependency in the import map: `npm:fflate@0.8.3/browser` is fflate, 0.8.3, `fflate/browser`. */
function dependency(target: string): { name: string; version: string; specifier: string } {
  const found = /^npm:((?:@[^/]+\/)?[^@/]+)@([^/]+)(\/.*)?$/.exec(target);
  if (found === null) throw new TypeError(`${target}: no npm package`);
  const [, name = "", version = "", path = ""] = found;
  return { name, version, specifier: name + path };
}

/** Whether a specifier is a name of the import map, or a path in it. */
function isOf(specifier: string, name: string): boolean {
  return specifier === name || specifier.startsWith(`${name}/`);
}

/** The text of a module with what it imports named as in packages of npm; `used` takes the packages. */
function rewritten(text: string, imports: Config["imports"], used: Map<string, string>): string {
  return text.split(/(\/\*\*[\s\S]*?\*\/)/).map((part, i) =>
    // Examples in the documentation stay as they are.
    i % 2 === 1 ? part : rewrittenCode(part, imports, used)
  ).join("");
}

function rewrittenCode(code: string, imports: Config["imports"], used: Map<string, string>) {
  return code
    .replace(SPECIFIER, (_whole, before: string, quote: string, specifier: string) => {
      if (specifier.startsWith(".")) {
        return `${before}${quote}${specifier.replace(/\.ts$/, ".js")}${quote}`;
      }
      const own = /^@perfdata\/[^/]+/.exec(specifier);
      if (own !== null) used.set(own[0], "");
      const found = Object.entries(imports).find(([name]) => isOf(specifier, name));
      if (found === undefined) return `${before}${quote}${specifier}${quote}`;
      const { name, version, specifier: path } = dependency(found[1]);
      used.set(name, version);
      return `${before}${quote}${path}${specifier.slice(found[0].length)}${quote}`;
    })
    .replace(/(new URL\(\s*["']\.[^"']*)\.ts(["'])/g, "$1.js$2");
}

/**
 * A declaration with the types that it takes from other packages by those packages' names: TypeScript writes a path where
 * the type was not imported by name, and packages are not side by side on npm.
 *
 * @param path of the declaration, from the folder of packages
 * @param published the door of each module, by its path there without its extension
 */
function byName(text: string, path: string, published: ReadonlyMap<string, string>): string {
  return text.replace(/(\bimport\(["'])(\.\.?\/[^"']+)/g, (whole, before: string, to: string) => {
    const at = new URL(to, `file:///${path}`).pathname.slice(1).replace(/\.[jt]s$/, "");
    if (at.split("/", 1)[0] === path.split("/", 1)[0]) return whole;
    const name = published.get(at);
    if (name === undefined) throw new Error(`${path} needs a type of ${at}, which is not public`);
    return before + name;
  });
}

/** A declaration that brings the types of `using`, which a program for older runtimes does not have. */
function withLibrary(text: string): string {
  const needs = /\bDisposable\b|\bSymbol\.dispose\b/.test(text);
  return needs ? `/// <reference lib="esnext.disposable" />\n${text}` : text;
}

/** The README of a package with the name that it has on npm, and a recording as users have one. */
function readmeOf(name: string, text: string): string {
  return text.replaceAll(`"${name}"`, `"${npmName(name)}"`)
    .replaceAll("fixtures/recorded/callchain.perf.data", "perf.data");
}

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    cwd,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  if (!success) {
    throw new Error(
      `${command} ${args.join(" ")}: ${decoder.decode(stdout)}${decoder.decode(stderr)}`,
    );
  }
  return decoder.decode(stdout);
}

/** What a package is called on npm, where the front door needs no scope. */
function npmName(name: string): string {
  return name === FRONT ? "perfdata" : name;
}

/** The package that has the commands. */
const FRONT = "@perfdata/perfdata";

/**
 * Writes the commands into a package, with all modules of the packages that they use, and what starts them.
 *
 * @returns The path of what starts them, for the manifest.
 */
function writeCommands(out: string, workspace: Config): string {
  const lines = (name: string) => read(new URL(name, root));
  const copy = (folder: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
      const path = `${folder}/${name}`;
      if (isDirectory && name !== "testing") copy(path);
      if (!/\.(ts|json)$/.test(name) || /(_test|testing)\.ts$/.test(name)) continue;
      Deno.mkdirSync(`${out}/cli/${folder}`, { recursive: true });
      Deno.copyFileSync(new URL(path, root), `${out}/cli/${path}`);
    }
  };
  for (const folder of ["tools", "packages", "view"]) copy(folder);
  for (const name of ["deno.lock", "deno.sql.lock"]) {
    Deno.copyFileSync(new URL(name, root), `${out}/cli/${name}`);
  }
  const { imports, unstable } = workspace;
  // What an installation beside it is called must not matter: npm's packages come from Deno's cache.
  const config = { workspace: workspace.workspace, unstable, imports, nodeModulesDir: "none" };
  Deno.writeTextFileSync(`${out}/cli/deno.json`, `${JSON.stringify(config, undefined, 2)}\n`);

  const command = workspace.tasks.perfdata?.command ?? "";
  const permissions = [...command.matchAll(/--allow-\S+/g)].map(([flag]) =>
    flag.replace("PERFDATA_CWD,", "")
  );
  if (permissions.length === 0) throw new Error(`no permissions in the task "${command}"`);
  const bin = lines("publish/bin.js")
    .replace("/*PERMISSIONS*/", permissions.map((flag) => JSON.stringify(flag)).join(", "))
    .replace("/*DENO*/", DENO);
  Deno.mkdirSync(`${out}/bin`, { recursive: true });
  Deno.writeTextFileSync(`${out}/bin/perfdata.js`, bin, { mode: 0o755 });
  return "bin/perfdata.js";
}

/**
 * Where the sources are, for the manifests: npm compares it with the repository whose workflow publishes.
 *
 * @returns Nothing outside a workflow of GitHub.
 */
function repository(): string | undefined {
  const [server, name] = [Deno.env.get("GITHUB_SERVER_URL"), Deno.env.get("GITHUB_REPOSITORY")];
  return server === undefined || name === undefined ? undefined : `${server}/${name}`;
}

/** What {@link buildNpm} made. */
export interface NpmBuild {
  /** Paths of the tarballs. */
  readonly tarballs: readonly string[];
  /** Export paths that need Deno, and are in no tarball. */
  readonly left: readonly string[];
}

/**
 * Builds and packs all packages.
 *
 * @param folder Where the tarballs are written; what was in it is removed.
 * @param origin Address of the repository, for the manifests.
 * @throws {Error} Where TypeScript reports an error, or npm fails.
 */
export async function buildNpm(folder: string, origin?: string): Promise<NpmBuild> {
  const workspace: Config = JSON.parse(read(new URL("deno.json", root)));
  const packages = members(workspace);
  Deno.removeSync(folder, { recursive: true });
  const work = `${folder}/work`;
  Deno.mkdirSync(`${work}/node_modules`, { recursive: true });
  await installDependencies(work, workspace, packages);
  const used = compile(work, workspace, packages);
  const tarballs: string[] = [];
  for (const member of packages) {
    const out = `${work}/packages/${folderName(member)}`;
    writePackage(out, member, workspace, used.get(folderName(member)) ?? new Map(), origin);
    const packed = await run(
      "npm",
      ["pack", "--pack-destination", folder, "--loglevel=error"],
      out,
    );
    tarballs.push(`${folder}/${packed.trim().split("\n").at(-1)}`);
  }
  return {
    tarballs,
    left: packages.flatMap(({ config, left }) => left.map((path) => config.name + path.slice(1))),
  };
}

/** The name of a package's folder. */
function folderName({ folder }: Member): string {
  return folder.pathname.split("/").at(-2) as string;
}

/** Installs what packages depend on: the compiler finds the types where npm installs them. */
async function installDependencies(
  work: string,
  workspace: Config,
  packages: readonly Member[],
): Promise<void> {
  const wanted = Object.entries(workspace.imports).filter(([name]) =>
    packages.some(({ exports, folder: at }) =>
      [...exports.values()].some((path) =>
        [...reachable(path, () => undefined)].some((module) =>
          module.startsWith(at.pathname) &&
          [...code(module).matchAll(SPECIFIER)].some(([, , , specifier]) =>
            isOf(specifier ?? "", name)
          )
        )
      )
    )
  ).map(([, target]) => dependency(target));
  Deno.writeTextFileSync(`${work}/package.json`, '{ "private": true }\n');
  await run("npm", [
    ...["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"],
    ...wanted.map(({ name, version }) => `${name}@${version}`),
  ], work);
}

/** Where the compiler finds what modules import by name: `paths` of its options. */
function importPaths(
  work: string,
  workspace: Config,
  packages: readonly Member[],
): Record<string, string[]> {
  const paths: Record<string, string[]> = {};
  for (const { config, exports } of packages) {
    for (const [path, at] of exports) paths[config.name + path.slice(1)] = [at];
  }
  for (const [name, target] of Object.entries(workspace.imports)) {
    if (!target.startsWith("npm:")) continue;
    const { specifier } = dependency(target);
    const { resolvedModule } = ts.resolveModuleName(
      specifier,
      `${work}/any.ts`,
      { moduleResolution: ts.ModuleResolutionKind.Bundler, module: ts.ModuleKind.ESNext },
      ts.sys,
    );
    if (resolvedModule?.resolvedFileName.endsWith(".ts")) {
      paths[name] ??= [resolvedModule.resolvedFileName];
    }
    paths[`${name}/*`] ??= [`${work}/node_modules/${dependency(target).specifier}/*`];
  }
  return paths;
}

/**
 * Compiles the packages into folders of their names.
 *
 * @returns By folder: the packages that its modules import, with their versions; "" is that of the workspace.
 * @throws {Error} Where TypeScript reports an error.
 */
function compile(
  work: string,
  workspace: Config,
  packages: readonly Member[],
): Map<string, Map<string, string>> {
  const paths = importPaths(work, workspace, packages);
  const program = ts.createProgram({
    rootNames: [
      // Types of dependencies that have none.
      new URL("std.d.ts", root).pathname,
      ...packages.flatMap(({ exports }) => [...exports.values()]),
    ],
    options: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      lib: [
        "lib.esnext.d.ts",
        "lib.dom.d.ts",
        "lib.dom.iterable.d.ts",
        "lib.dom.asynciterable.d.ts",
      ],
      types: [],
      strict: true,
      noUncheckedIndexedAccess: true,
      noImplicitOverride: true,
      skipLibCheck: true,
      declaration: true,
      sourceMap: true,
      inlineSources: true,
      allowImportingTsExtensions: true,
      rewriteRelativeImportExtensions: true,
      rootDir: new URL("packages", root).pathname,
      outDir: `${work}/packages`,
      paths,
    },
  });
  const used = new Map<string, Map<string, string>>();
  const folders = new URL("packages/", root).pathname;
  const published = new Map<string, string>();
  for (const [name, [at = ""]] of Object.entries(paths)) {
    if (!at.startsWith(folders)) continue;
    // A type is at the first door that has names of its module.
    for (const path of [at, ...reexported(at)]) {
      const module = path.slice(folders.length).replace(/\.ts$/, "");
      if (!published.has(module)) published.set(module, name);
    }
  }
  const { diagnostics } = program.emit(undefined, (path, text) => {
    const name = path.slice(`${work}/packages/`.length).split("/", 1)[0] as string;
    if (!used.has(name)) used.set(name, new Map());
    Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    const imported = used.get(name) as Map<string, string>;
    const isCode = !path.endsWith(".map");
    const code = path.endsWith(".d.ts")
      ? withLibrary(byName(text, path.slice(`${work}/packages/`.length), published))
      : text;
    Deno.writeTextFileSync(path, isCode ? rewritten(code, workspace.imports, imported) : text);
  });
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (problems.length > 0) {
    throw new Error(ts.formatDiagnostics(problems, {
      getCanonicalFileName: (name) => name,
      getCurrentDirectory: () => root.pathname,
      getNewLine: () => "\n",
    }));
  }
  return used;
}

/** The modules of {@link sideEffectsOf} as the compiler calls what it makes of them. */
function inJavaScript(modules: false | string[]): false | string[] {
  return modules && modules.map((path) => path.replace(/\.ts$/, ".js"));
}

/** Writes what a compiled package has besides code: manifest, README, license, and commands. */
function writePackage(
  out: string,
  { config, folder: at, exports }: Member,
  workspace: Config,
  used: ReadonlyMap<string, string>,
  origin: string | undefined,
): void {
  const { version } = config;
  const dependencies = [...used].filter(([other]) => other !== config.name).sort()
    .map(([other, exact]) => [other, exact || version]);
  const readme = read(new URL("README.md", at));
  const description = /^# .*\n+((?:.+\n)+)/.exec(readme)?.[1]?.trim().replaceAll("\n", " ");
  const bin = config.name === FRONT ? writeCommands(out, workspace) : undefined;
  const manifest = {
    name: npmName(config.name),
    version,
    description,
    license: "MIT",
    ...(origin === undefined ? {} : {
      repository: {
        type: "git",
        url: `git+${origin}.git`,
        directory: at.pathname.slice(root.pathname.length, -1),
      },
    }),
    type: "module",
    ...(bin === undefined ? {} : { bin: { perfdata: bin } }),
    // What opens a path asks for `node:fs` by `process.getBuiltinModule`.
    engines: { node: config.name === FRONT ? ">=20.16" : ">=20" },
    sideEffects: inJavaScript(sideEffectsOf(at)),
    exports: Object.fromEntries(
      [...exports].map(([path, module]) => {
        const file = `./${module.slice(at.pathname.length).replace(/\.ts$/, "")}`;
        return [path, { types: `${file}.d.ts`, default: `${file}.js` }];
      }),
    ),
    dependencies: Object.fromEntries(dependencies),
  };
  Deno.writeTextFileSync(`${out}/package.json`, `${JSON.stringify(manifest, undefined, 2)}\n`);
  Deno.writeTextFileSync(`${out}/README.md`, readmeOf(config.name, readme));
  Deno.copyFileSync(new URL("LICENSE", root), `${out}/LICENSE`);
}

if (import.meta.main) {
  const folder = new URL("build/npm", root).pathname;
  Deno.mkdirSync(folder, { recursive: true });
  const { tarballs, left } = await buildNpm(folder, repository());
  Deno.removeSync(`${folder}/work`, { recursive: true });
  for (const path of tarballs) console.log(path.slice(root.pathname.length));
  console.log(`left out, since they use Deno: ${left.join(", ")}`);
}
