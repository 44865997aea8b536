/**
 * Downloads files by build id from debuginfod servers into the cache of its clients, in a process of its own,
 * which may reach those servers and write to that cache. It reads no other files, not even the recording.
 */
import { elfExtent, ElfFile } from "@perfdata/symbols";
import { openBinaryFile } from "@perfdata/symbols/files";
import { buildIdsEqual } from "@perfdata/symbols/resolver";
import { complain, Progress } from "./cli.ts";

/** What is to be downloaded. */
export interface DownloadJob {
  /** Servers, in the order in which they are asked. */
  readonly urls: readonly string[];
  /** The cache of debuginfod's clients. */
  readonly cache: string;
  /** Objects, the most wanted first. */
  readonly wanted: readonly WantedObject[];
  /** 100 KB at least have to come in this many seconds. */
  readonly seconds: number;
  /** The most bytes of a file. */
  readonly mostBytes: number;
}

/** An object, and which of its files are wanted. */
export interface WantedObject {
  /** Its name in messages. */
  readonly name: string;
  /** Its build id, hex. */
  readonly buildId: string;
  /** What to ask for. */
  readonly kinds: readonly FileKind[];
}

/** What a server has of a build: debug information with symbols, and what was mapped. */
export type FileKind = "debuginfo" | "executable";

/** So many bytes have to come in the time that {@linkcode DownloadJob} gives. */
const LEAST_BYTES = 100_000;
/** Bytes of a header of ELF. */
const ELF_HEADER = 64;

/** A server's answer is of no use: why. `isFinal` where what came of it is of none, either. */
class Refused extends Error {
  readonly isFinal: boolean;

  constructor(message: string, isFinal = true) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** The server does not have it. */
class Unknown extends Refused {}

/** One file that is wanted. */
interface WantedOne {
  readonly name: string;
  readonly buildId: string;
  readonly kind: FileKind;
  /** Whether it is what another one shares. */
  readonly isShared?: boolean;
}

/** Downloads all; how many files came, and how many could have but for an error. */
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
    // What dwz has moved to a file that several share is in another build. That one shares nothing: what
    // servers say it does would never end.
    if (elf?.shared !== undefined && file.isShared !== true) {
      const name = `${file.name} (shared)`;
      queue.push({ name, buildId: elf.shared, kind: "debuginfo", isShared: true });
    }
  }
  return done;
}

/** Whether a file is there and of that build, and which other build it needs. */
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

/** Asks one server after another; why none could give it, or nothing if one did. */
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
    // Something else is in it.
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
  // What came is kept, and continued next time.
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

/** Downloads to a file, from where an earlier download ended; how many bytes that file has then. */
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

/** What is no ELF file, or says that it is too large, need not be downloaded any further. */
function checkStart(file: Deno.FsFile, size: number, mostBytes: number): void {
  const start = new Uint8Array(ELF_HEADER);
  file.seekSync(0, Deno.SeekMode.Start);
  file.readSync(start);
  file.seekSync(size, Deno.SeekMode.Start);
  const extent = elfExtent(start);
  if (extent === undefined) throw new Refused("what it sends is no ELF file");
  if (extent > mostBytes) throw new Refused(`too large: more than ${mostBytes} bytes`);
}

/** Refuses a file of another build, and one that is not whole. */
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
