/**
 * Downloads files by build id from debuginfod servers into the cache of debuginfod's clients. Runs
 * in a process of its own that may only reach those servers and write to that cache. It reads no
 * other files, not even the recording.
 */
import { elfExtent, ElfFile } from "@perfdata/symbols";
import { openBinaryFile } from "@perfdata/symbols/files";
import { buildIdsEqual } from "@perfdata/symbols/resolver";
import { complain, Progress } from "./cli.ts";

/** The files to download, and the limits. */
export interface DownloadJob {
  /** Server URLs, in the order in which they are tried. */
  readonly urls: readonly string[];
  /** The cache directory of debuginfod's clients. */
  readonly cache: string;
  /** Objects in the order of their download. */
  readonly wanted: readonly WantedObject[];
  /** Abort a download if less than 100 KB arrive in this many seconds. */
  readonly seconds: number;
  /** Maximum size of a file in bytes. */
  readonly mostBytes: number;
}

/** An object, and the kinds of its files to download. */
export interface WantedObject {
  readonly name: string;
  readonly buildId: string;
  readonly kinds: readonly FileKind[];
}

/** Kinds of files on a server: debug information with symbols, or the binary that was mapped. */
export type FileKind = "debuginfo" | "executable";

/** Bytes that have to arrive in `DownloadJob.seconds`. */
const LEAST_BYTES = 100_000;
/** Size of an ELF header in bytes. */
const ELF_HEADER = 64;

/**
 * A server's answer that cannot be used, with the reason. If `isFinal` is set, the partial file is
 * useless and is removed.
 */
class Refused extends Error {
  readonly isFinal: boolean;

  constructor(message: string, isFinal = true) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** The server does not have the file. */
class Unknown extends Refused {}

/** One file to download. */
interface WantedOne {
  readonly name: string;
  readonly buildId: string;
  readonly kind: FileKind;
  /** Whether this is the supplementary file (dwz) of another file. */
  readonly isShared?: boolean;
}

/**
 * Downloads all files. Counts the files that arrived, and those that failed by an error although a
 * server may have them.
 */
async function downloadAll(job: DownloadJob): Promise<{ came: number; failed: number }> {
  const queue: WantedOne[] = job.wanted.flatMap(({ name, buildId, kinds }) =>
    kinds.map((kind) => ({ name, buildId, kind }))
  );
  const done = { came: 0, failed: 0 };
  const asked = new Set<string>();
  for (const file of queue) {
    if (!/^[0-9a-f]{4,128}$/.test(file.buildId)) continue;
    const path = `${job.cache}/${file.buildId}/${file.kind}`;
    if (asked.has(path)) continue;
    asked.add(path);
    let elf = opened(path, file.buildId);
    if (elf === undefined) {
      const problems = await download(job, file, path);
      if (problems === undefined) {
        done.came++;
        elf = opened(path, file.buildId);
      } else if (problems.some((problem) => !(problem instanceof Unknown))) done.failed++;
    }
    // dwz moves debug information that several files share to a file with its own build id. Ignore
    // a link from that file to another one: a server could make the chain endless.
    if (elf?.shared !== undefined && file.isShared !== true) {
      const name = `${file.name} (shared)`;
      queue.push({ name, buildId: elf.shared, kind: "debuginfo", isShared: true });
    }
  }
  return done;
}

/**
 * Opens a file in the cache. Returns the build id of its supplementary file, or `undefined` if the
 * file is missing or of another build.
 */
function opened(path: string, buildId: string): { shared: string | undefined } | undefined {
  try {
    using source = openBinaryFile(path);
    const elf = ElfFile.open(source);
    if (!buildIdsEqual(elf.buildId() ?? "", buildId)) return undefined;
    return { shared: elf.debugAltLink()?.buildId };
  } catch {
    return undefined;
  }
}

/**
 * Tries one server after another. Returns the reasons if all failed, `undefined` if the file
 * arrived.
 */
async function download(
  job: DownloadJob,
  { name, buildId, kind }: { name: string; buildId: string; kind: FileKind },
  path: string,
): Promise<Refused[] | undefined> {
  const problems: Refused[] = [];
  const texts: string[] = [];
  for (const url of job.urls) {
    const part = `${path}.${new URL(url).host.replace(/[^\w.-]/g, "_")}.part`;
    const what = `${name}: ${kind} from ${new URL(url).host}`;
    try {
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
      const address = `${url.replace(/(?<!\/)\/+$/, "")}/buildid/${buildId}/${kind}`;
      const size = await fetchPart(job, address, part, what);
      checkBuild(part, buildId);
      Deno.renameSync(part, path);
      complain(`symbols: ${what}: ${(size / 1e6).toFixed(1)} MB`);
      return undefined;
    } catch (error) {
      const problem = refusal(error);
      if (problem.isFinal) removeIfThere(part);
      problems.push(problem);
      texts.push(`${new URL(url).host}: ${problem.message}`);
    }
  }
  try {
    Deno.removeSync(path.slice(0, path.lastIndexOf("/")));
  } catch {
    // The directory is not empty.
  }
  complain(`symbols: ${name}: no ${kind}: ${texts.join("; ")}`);
  return problems;
}

function refusal(error: unknown): Refused {
  if (error instanceof Refused) return error;
  if (error instanceof Deno.errors.NotCapable) {
    return new Refused("leads to another host, which DEBUGINFOD_URLS does not name");
  }
  const message = error instanceof Error ? error.message : String(error);
  // Keep the partial file: the next download resumes it.
  return new Refused(message.split("\n")[0] ?? "", false);
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function sizeOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch {
    return 0;
  }
}

/** Downloads to a file, and resumes an earlier download. Returns the size of the file. */
async function fetchPart(
  { seconds, mostBytes }: DownloadJob,
  address: string,
  part: string,
  what: string,
): Promise<number> {
  const had = sizeOf(part);
  const slow = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      slow.abort(
        new Refused(`less than ${LEAST_BYTES / 1000} KB came in ${seconds} seconds`, false),
      );
    }, 1000 * seconds);
  };
  wait();
  let body: ReadableStream<Uint8Array> | null = null;
  try {
    const headers = { ...(had > 0 ? { range: `bytes=${had}-` } : {}), "user-agent": "perfdata" };
    const response = await fetch(address, { signal: slow.signal, headers });
    ({ body } = response);
    if (response.status === 404) throw new Unknown("does not have it", false);
    if (response.status === 416 && had > 0) throw new Refused("has another file than before");
    if (!response.ok || body === null) throw new Refused(`status ${response.status}`, false);
    const range = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1];
    const from = response.status === 206 ? Number(range) : 0;
    if (from !== 0 && from !== had) throw new Refused("sent another part than was asked for");
    const length = response.headers.get("content-length");
    const total = length === null || response.headers.has("content-encoding")
      ? undefined
      : from + Number(length);
    const tooLarge = () => new Refused(`too large: more than ${mostBytes} bytes`);
    if (total !== undefined && total > mostBytes) throw tooLarge();

    using file = Deno.openSync(part, { read: true, write: true, create: true, mode: 0o600 });
    file.truncateSync(from);
    file.seekSync(from, Deno.SeekMode.Start);
    const progress = new Progress(what, total);
    let size = from;
    let since = 0;
    try {
      progress.add(from);
      for await (const bytes of body) {
        if (size + bytes.length > mostBytes) throw tooLarge();
        for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
        const wasShort = size < ELF_HEADER;
        size += bytes.length;
        if (wasShort && size >= ELF_HEADER) checkStart(file, size, mostBytes);
        progress.add(bytes.length);
        since += bytes.length;
        if (since < LEAST_BYTES) continue;
        since = 0;
        wait();
      }
    } finally {
      progress.finish();
    }
    return size;
  } catch (error) {
    await body?.cancel().catch(() => {});
    throw slow.signal.aborted ? slow.signal.reason : error;
  } finally {
    clearTimeout(timer);
  }
}

/** Stops a download early if the file is not ELF or its headers give a size above the limit. */
function checkStart(file: Deno.FsFile, size: number, mostBytes: number): void {
  const start = new Uint8Array(ELF_HEADER);
  file.seekSync(0, Deno.SeekMode.Start);
  file.readSync(start);
  file.seekSync(size, Deno.SeekMode.Start);
  const extent = elfExtent(start);
  if (extent === undefined) throw new Refused("what it sends is no ELF file");
  if (extent > mostBytes) throw new Refused(`too large: more than ${mostBytes} bytes`);
}

/** Throws if a file is of another build or is incomplete. */
function checkBuild(path: string, buildId: string): void {
  let found: string | undefined;
  try {
    using source = openBinaryFile(path);
    found = ElfFile.open(source).buildId();
  } catch (error) {
    throw new Refused(error instanceof Error ? error.message : String(error));
  }
  if (found === undefined) throw new Refused("what it sent has no build id");
  if (!buildIdsEqual(found, buildId)) throw new Refused(`sent another build, ${found}`);
}

if (import.meta.main) {
  const job: DownloadJob = JSON.parse(await new Response(Deno.stdin.readable).text());
  const { came, failed } = await downloadAll(job);
  await new Response(`${JSON.stringify({ came, failed })}\n`).body
    ?.pipeTo(Deno.stdout.writable);
}
