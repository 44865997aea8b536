/**
 * Runs a command inside this process as if in its own: standard streams, directory, environment,
 * permissions, exit code.
 *
 * Commands reach all of these through the namespace `Deno`, so each run gets its own namespace.
 * Paths are relative to the run's directory, and the run has the permissions of its task. Files and
 * threads that it leaves open are closed at its end, as the system does for a process.
 */

// Evaluates, before any command runs, the Node modules that commands (or CommonJS packages of npm)
// import when needed. Deno 2.9.6 panics ("RefCell already borrowed") in a microtask that calls
// `import()` while an import of a module under evaluation is resolved a second time; evaluation of
// a Node module runs microtasks.
import "node:buffer";
import "node:fs";
import "node:module";
import "node:path";
import "node:process";
import "node:readline";
import "node:util";
import "node:v8";
import "node:vm";
import "node:zlib";

/** Output and exit code of a command. */
export interface HostResult {
  /** Its exit code. */
  readonly code: number;
  /** Standard output. */
  readonly stdout: Uint8Array;
  /** Standard error. */
  readonly stderr: Uint8Array;
}

/** The surroundings of a command at its start. */
export interface HostOptions {
  /** Arguments. */
  readonly args: readonly string[];
  /** Flags of `deno run`; only `--allow-…` count. */
  readonly flags: readonly string[];
  /** Standard input; without it, `/dev/null`. */
  readonly input?: Uint8Array | undefined;
  /** Working directory. */
  readonly cwd: string;
  /** Variables of the environment, in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Number of bytes of output after which the reader closes the pipe. */
  readonly most?: number;
}

type Place = Required<Pick<HostOptions, "flags" | "cwd" | "env">>;
type Descriptor = Deno.PermissionDescriptor;

const real = globalThis.Deno;

/** Thrown by `Deno.exit` to end a run. */
class Exit extends Error {}

/**
 * Permissions by the flags of `deno run`, limited to those of this process. A command can revoke
 * them.
 */
class Permissions {
  /** Allowed names by kind of permission; `undefined` allows all of that kind. */
  readonly #granted = new Map<string, Set<string> | undefined>();

  constructor(flags: readonly string[]) {
    for (const flag of flags) {
      const [, kind, names] = /^--allow-(\w+)(?:=(.*))?$/.exec(flag) ?? [];
      if (kind === undefined || (kind !== "all" && !isGranted(kind))) continue;
      this.#granted.set(kind, names && new Set(names.split(",")) || undefined);
    }
  }

  /** Whether the access is allowed. */
  has(kind: string, name?: string): boolean {
    if (this.#granted.has("all")) return true;
    if (!this.#granted.has(kind)) return false;
    const names = this.#granted.get(kind);
    return names === undefined || (name !== undefined && names.has(name));
  }

  /** @throws {Deno.errors.NotCapable} If the access is not allowed. */
  need(kind: string, name: string): void {
    if (this.has(kind, name)) return;
    throw new real.errors.NotCapable(
      `Requires ${kind} access to "${name}", run again with the --allow-${kind} flag`,
    );
  }

  /** `Deno.permissions` for a command. */
  api(): Deno.Permissions {
    const nameOf = (of: Descriptor): string | undefined =>
      of.name === "env"
        ? of.variable
        : of.name === "run"
        ? of.command as string
        : of.name === "net"
        ? of.host
        : of.name === "read" || of.name === "write"
        ? of.path as string
        : undefined;
    const querySync = (of: Descriptor) =>
      ({
        state: this.has(of.name, nameOf(of)) ? "granted" : "prompt",
        onchange: null,
        partial: false,
      }) as Deno.PermissionStatus;
    const revokeSync = (of: Descriptor): Deno.PermissionStatus => {
      const name = nameOf(of);
      if (name === undefined) this.#granted.delete(of.name);
      else this.#granted.get(of.name)?.delete(name);
      return querySync(of);
    };
    const api = {
      querySync,
      revokeSync,
      requestSync: querySync,
      query: (of: Descriptor) => Promise.resolve(querySync(of)),
      revoke: (of: Descriptor) => Promise.resolve(revokeSync(of)),
      request: (of: Descriptor) => Promise.resolve(querySync(of)),
    };
    return api as unknown as Deno.Permissions;
  }
}

/** Whether this process has a permission without limits. */
function isGranted(name: string): boolean {
  return real.permissions.querySync({ name } as Descriptor).state === "granted";
}

/**
 * Functions that read or write files named by paths, with the number of their first arguments that
 * are paths.
 */
const READING = "stat lstat readDir realPath readLink".split(" ");
const OPENING = "readFile readTextFile".split(" ");
const WRITING = "remove mkdir writeFile writeTextFile chmod truncate".split(" ");
const OF_TWO = "rename copyFile link".split(" ");
/** Files that Deno opens only with all permissions. */
const SPECIAL = /^\/(?:dev(?!\/(?:null|zero|u?random)$)|proc|sys)\//;

type Method = (...args: unknown[]) => unknown;

/** Members of `Deno` that depend on the directory, the environment or the permissions. */
function placed(place: Place, closing: (() => void)[]): Record<string, unknown> {
  let { cwd } = place;
  const permissions = new Permissions(place.flags);
  const { env } = place;
  const members: Record<string, unknown> = {};
  const resolve = (path: unknown): unknown =>
    typeof path === "string" && path !== "" && !path.startsWith("/")
      ? `${cwd}/${path === "." ? "" : path}`
      : path;
  /** Restores, in an error's message, the path as the command gave it. */
  const named = (error: unknown, paths: readonly unknown[]): unknown => {
    if (!(error instanceof Error)) return error;
    for (const path of paths) {
      const resolved = resolve(path);
      if (resolved !== path) error.message = error.message.replaceAll(`${resolved}`, `${path}`);
    }
    return error;
  };
  const wrap = (name: string, paths: number, check: (path: string, args: unknown[]) => void) => {
    const method = (real as unknown as Record<string, Method>)[name] as Method;
    const call = (args: unknown[]): unknown => {
      const own = args.slice(0, paths);
      const given = args.map((arg, i) => i < paths ? resolve(arg) : arg);
      try {
        for (const path of own) check(String(path), args);
        const found = method(...given);
        if (!(found instanceof Promise)) return found;
        return found.catch((error) => Promise.reject(named(error, own)));
      } catch (error) {
        throw named(error, own);
      }
    };
    members[name] = name.endsWith("Sync") || name === "readDir"
      ? (...args: unknown[]) => call(args)
      : async (...args: unknown[]) => await call(args);
  };
  const both = (names: readonly string[], paths: number, check: Parameters<typeof wrap>[2]) => {
    for (const name of names) {
      wrap(name, paths, check);
      wrap(`${name}Sync`, paths, check);
    }
  };
  const readable = (path: string) => permissions.need("read", path);
  const openable = (path: string) => {
    if (SPECIAL.test(String(resolve(path)))) permissions.need("all", path);
    readable(path);
  };
  const writable = (path: string) => permissions.need("write", path);
  both(READING, 1, readable);
  both(OPENING, 1, openable);
  both(WRITING, 1, writable);
  both(OF_TWO, 2, writable);
  both(["open"], 1, (path, [, options]) => {
    const { read = true, write, append } = (options ?? {}) as Deno.OpenOptions;
    if (read && !write) openable(path);
    if (write || append) writable(path);
  });
  for (const name of ["open", "openSync"]) {
    const open = members[name] as Method;
    const noted = (file: unknown) => {
      closing.push(() => (file as Deno.FsFile).close());
      return file;
    };
    members[name] = name === "open"
      ? async (...args: unknown[]) => noted(await open(...args))
      : (...args: unknown[]) => noted(open(...args));
  }
  for (const name of ["makeTempDirSync", "makeTempFileSync"] as const) {
    members[name] = (options: Deno.MakeTempOptions = {}) => {
      writable(options.dir ?? "/tmp");
      const { dir } = options;
      return real[name](dir === undefined ? options : { ...options, dir: String(resolve(dir)) });
    };
  }
  members.cwd = () => cwd;
  members.chdir = (path: string) => {
    cwd = real.realPathSync(String(resolve(path)));
  };
  members.permissions = permissions.api();
  members.noColor = (env.NO_COLOR ?? "") !== "";
  members.env = {
    get(name: string) {
      permissions.need("env", name);
      return env[name];
    },
    has(name: string) {
      permissions.need("env", name);
      return name in env;
    },
  };
  members.Command = class extends real.Command {
    constructor(program: string | URL, options: Deno.CommandOptions = {}) {
      permissions.need("run", String(program));
      super(program, { cwd, clearEnv: true, ...options, env: { ...env, ...options.env } });
    }
  };
  for (const name of ["addSignalListener", "removeSignalListener"] as const) {
    members[name] = (signal: Deno.Signal, run: () => void) => {
      real[name](signal, run);
      if (name === "addSignalListener") {
        closing.push(() => real.removeSignalListener(signal, run));
      }
    };
  }
  return members;
}

/** `Deno` with other members. */
function namespace(members: Record<string, unknown>): typeof Deno {
  const descriptors = Object.getOwnPropertyDescriptors(real);
  for (const [name, value] of Object.entries(members)) {
    Object.assign(descriptors, { [name]: { value, configurable: true, writable: true } });
  }
  return Object.defineProperties({}, descriptors as PropertyDescriptorMap) as typeof Deno;
}

/** The globals that a run replaces. */
interface Globals {
  readonly Deno: typeof Deno;
  readonly Worker: typeof Worker;
  /** Whether standard input is a pipe. */
  readonly isPiped: boolean;
}

/**
 * Globals of the current run. (`AsyncLocalStorage` would hide them from concurrent tests, but Deno
 * 2.9 keeps them set in code that resumes after a system call.)
 */
let current: Globals | undefined;

/** Makes globals depend on the run. */
function install(found: () => Globals | undefined): void {
  const { process, Worker } = globalThis;
  const { getBuiltinModule } = process;
  const own = {
    Deno: () => found()?.Deno ?? real,
    Worker: () => found()?.Worker ?? Worker,
  };
  for (const [name, get] of Object.entries(own)) {
    Object.defineProperty(globalThis, name, { get, configurable: true });
  }
  process.getBuiltinModule = ((name: string) => {
    const module = getBuiltinModule(name);
    const isPiped = found()?.isPiped;
    if (name !== "node:fs" || isPiped === undefined) return module;
    const stat = { isFIFO: () => isPiped, isFile: () => false, isSocket: () => false };
    return { ...module as object, fstatSync: () => stat };
  }) as typeof getBuiltinModule;
}

const realWorker = globalThis.Worker;
install(() => current);

/** Makes this thread a part of the run that started it: see `host_worker.ts`. */
export function becomeThread(place: Place): void {
  const own: Globals = {
    Deno: namespace(placed(place, [])),
    Worker: workersOf(place, []),
    isPiped: false,
  };
  install(() => own);
}

/**
 * The class `Worker` of a run: each worker has the run's directory, environment and permissions.
 */
function workersOf(place: Place, closing: (() => void)[]): typeof Worker {
  return class extends realWorker {
    constructor(module: string | URL, options?: WorkerOptions) {
      const url = new URL("./host_worker.ts", import.meta.url);
      url.search = encodeURIComponent(JSON.stringify({ module: String(module), place }));
      super(url, options);
      closing.push(() => this.terminate());
    }
  };
}

/** Standard input of a run. */
function standardInput(input: Uint8Array | undefined): typeof Deno.stdin {
  let at = 0;
  const readSync = (into: Uint8Array): number | null => {
    const part = input?.subarray(at, at + into.length) ?? new Uint8Array();
    if (part.length === 0) return into.length === 0 ? 0 : null;
    into.set(part);
    at += part.length;
    return part.length;
  };
  return {
    readSync,
    read: (into: Uint8Array) => Promise.resolve(readSync(into)),
    isTerminal: () => false,
    setRaw: () => {},
    close: () => {},
    get readable() {
      const rest = input?.slice(at) ?? new Uint8Array();
      at = input?.length ?? 0;
      return new Blob([rest]).stream();
    },
  } as unknown as typeof Deno.stdin;
}

/** Standard output or standard error of a run. */
class Output {
  readonly #parts: Uint8Array[] = [];
  readonly #most: number;
  readonly #isOver: () => boolean;
  #size = 0;

  constructor(most: number, isOver: () => boolean) {
    this.#most = most;
    this.#isOver = isOver;
  }

  /** `Deno.stdout` for a command. */
  api(): typeof Deno.stdout {
    const writeSync = (bytes: Uint8Array): number => {
      if (this.#isOver()) return bytes.length;
      this.#size += bytes.length;
      if (this.#size > this.#most) throw new real.errors.BrokenPipe("Broken pipe (os error 32)");
      this.#parts.push(bytes.slice());
      return bytes.length;
    };
    return {
      writeSync,
      write: (bytes: Uint8Array) => Promise.resolve().then(() => writeSync(bytes)),
      isTerminal: () => false,
      close: () => {},
      get writable() {
        return new WritableStream<Uint8Array>({ write: (bytes) => void writeSync(bytes) });
      },
    } as unknown as typeof Deno.stdout;
  }

  /** All bytes written so far. */
  bytes(): Uint8Array {
    const all = new Uint8Array(this.#parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}

/** Runs of this thread follow each other, since all share the same modules. */
let last: Promise<unknown> = Promise.resolve();

/** Runs a command with its own view of the process; a call of `Deno.exit` ends the run only. */
export function inHost(run: () => unknown, options: HostOptions): Promise<HostResult> {
  const result = last.then(() => hosted(run, options));
  last = result.catch(() => {});
  return result;
}

async function hosted(run: () => unknown, options: HostOptions): Promise<HostResult> {
  const { args, input, most = Infinity, flags, cwd } = options;
  const place: Place = { flags, cwd, env: { ...real.env.toObject(), ...options.env } };
  let code: number | undefined;
  const isOver = () => code !== undefined;
  const out = new Output(most, isOver);
  const err = new Output(most, isOver);
  const closing: (() => void)[] = [];
  const own: Globals = {
    Deno: namespace({
      ...placed(place, closing),
      args,
      stdin: standardInput(input),
      stdout: out.api(),
      stderr: err.api(),
      exit(number = 0): never {
        code ??= number;
        throw new Exit();
      },
    }),
    Worker: workersOf(place, closing),
    isPiped: input !== undefined,
  };
  let failure: { readonly error: unknown } | undefined;
  current = own;
  try {
    await run();
  } catch (error) {
    if (!(error instanceof Exit)) failure = { error };
  }
  current = undefined;
  code ??= 0;
  for (const close of closing) {
    try {
      close();
    } catch {
      // The command called `Deno.exit`.
    }
  }
  if (failure !== undefined) throw failure.error;
  return { code, stdout: out.bytes(), stderr: err.bytes() };
}
