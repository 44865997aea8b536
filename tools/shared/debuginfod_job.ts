/**
 * `symbols fetch`: finds missing files of a recording, and starts the process that downloads them.
 */
import type { SymbolTrust } from "@perfdata/session";
import { defaultPlaces } from "@perfdata/symbols/files";
import type { DownloadJob, WantedObject } from "./debuginfod.ts";
import { InputError } from "./cli.ts";

const SHELL = "/bin/sh";
/** Seconds in which 100 KB have to arrive, as in debuginfod's client. */
const SECONDS = 90;
const MOST_BYTES = 2 ** 31;

/** The result of the downloads. */
export interface Downloaded {
  /** Files that arrived. */
  readonly came: number;
  /** Files that failed by an error although a server may have them. */
  readonly failed: number;
}

/**
 * Parses `DEBUGINFOD_URLS`.
 *
 * @throws {InputError} If it is empty, or contains a word that is not a server's URL.
 */
export function serversOf(text: string | undefined): readonly string[] {
  const urls = (text ?? "").split(/\s+/).filter((word) => word !== "" && !word.startsWith("ima:"));
  if (urls.length === 0) {
    throw new InputError(
      'DEBUGINFOD_URLS names no server: export DEBUGINFOD_URLS="https://debuginfod.elfutils.org/"',
    );
  }
  for (const url of urls) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      throw new InputError(`DEBUGINFOD_URLS has ${url}, expected https://HOST/`);
    }
  }
  return urls;
}

/** The host and port of a URL, in the syntax of `--allow-net`. */
export function netPermission(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/**
 * The files that would give more names, sorted by the samples of their objects.
 *
 * @param lines Whether to include objects that only lack source lines.
 */
export function missingFiles({ objects }: SymbolTrust, lines: boolean): WantedObject[] {
  return objects.toSorted((a, b) => b.all.samples - a.all.samples).flatMap((of) => {
    const { object, all, resolved, origin } = of;
    const buildId = object?.buildId;
    if (object === undefined || buildId === undefined) return [];
    if (object.kind === "jit" || object.kind === "bpf") return [];
    const lacks = resolved.addresses < all.addresses ||
      (lines && of.lines.addresses < all.addresses);
    if (!lacks) return [];
    const isMapped = origin === undefined && object.kind === "elf";
    const kinds = isMapped ? ["debuginfo", "executable"] as const : ["debuginfo"] as const;
    return [{ name: object.path, buildId: buildId.toLowerCase(), kinds }];
  });
}

/** Downloads the files in a process that may only reach the servers and write to the cache. */
export async function downloadMissing(
  urls: readonly string[],
  wanted: readonly WantedObject[],
): Promise<Downloaded> {
  const { debuginfodCache: cache } = defaultPlaces();
  if (cache === undefined) throw new InputError("DEBUGINFOD_CACHE_PATH and HOME are not set");
  const { state } = Deno.permissions.querySync({ name: "run", command: SHELL });
  if (state !== "granted") {
    throw new InputError(
      `it starts what downloads: install perfdata with --allow-run=cat,${SHELL}`,
    );
  }
  Deno.mkdirSync(cache, { recursive: true, mode: 0o700 });
  const job: DownloadJob = {
    urls,
    cache: Deno.realPathSync(cache),
    wanted,
    seconds: numberOf("DEBUGINFOD_TIMEOUT", SECONDS),
    mostBytes: numberOf("DEBUGINFOD_MAXSIZE", MOST_BYTES),
  };
  const path = (name: string) => new URL(name, import.meta.url).pathname;
  const child = new Deno.Command(SHELL, {
    args: [
      // Started by the shell: the permission has to name a program, and the path of Deno differs by
      // machine.
      ...["-c", 'exec "$0" "$@"', Deno.execPath()],
      ...["run", "--no-prompt", `--config=${path("../../deno.json")}`, "--frozen"],
      `--allow-net=${urls.map(netPermission).join(",")}`,
      `--allow-read=${job.cache}`,
      `--allow-write=${job.cache}`,
      path("debuginfod.ts"),
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  // Forward signals: a signal that is sent only to this process also has to end the other one.
  const listeners = (["SIGINT", "SIGTERM", "SIGHUP"] as const).map((signal) =>
    [signal, () => endChild(child, signal)] as const
  );
  for (const [signal, listener] of listeners) Deno.addSignalListener(signal, listener);
  const output = child.output();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(job)));
  await writer.close();
  const { success, stdout } = await output;
  for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
  if (!success) throw new InputError("the download was ended; what came is continued next time");
  return JSON.parse(new TextDecoder().decode(stdout));
}

function endChild(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // The process has already ended.
  }
}

function numberOf(variable: string, otherwise: number): number {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  const value = state === "granted" ? Number(Deno.env.get(variable)) : 0;
  return value > 0 ? value : otherwise;
}
