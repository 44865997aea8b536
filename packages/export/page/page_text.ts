/**
 * The page as one text: script, style, worker and, in a report, the data.
 *
 * @module
 */
import { deflate, pack, toBase64 } from "./pack.ts";
import type { ViewProfile } from "./view_profile.ts";

/** The files of a page. */
export interface PageParts {
  /** `page.html`. */
  readonly page: string;
  /** Style sheet. */
  readonly style: string;
  /** Script of the page. */
  readonly script: string;
  /** Script of the worker. */
  readonly worker: string;
}

/** The data of a report. */
export interface ReportParts {
  /** The profile; `undefined` without samples. */
  readonly profile: ViewProfile | undefined;
  /** The profile to compare with. */
  readonly base?: ViewProfile | undefined;
}

/** Source of a page's recording. */
export type PageFrom = "server" | "report" | "files";

/** The hash of a text in the format of a Content-Security-Policy. */
async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `'sha256-${toBase64(new Uint8Array(digest))}'`;
}

/**
 * The Content-Security-Policy of a page: only its own script and style, given by hash, and workers
 * that it creates. A page that opens files may load scripts from its own folder. Only a page from a server may send requests, and only to that server.
 *
 * @param hasFiles Whether the worker is also in files beside the page.
 */
export async function contentSecurityPolicy(
  { style, script }: Pick<PageParts, "style" | "script">,
  from: PageFrom,
  hasFiles: boolean = false,
): Promise<string> {
  return [
    "default-src 'none'",
    // WebAssembly decompresses xz and formats instructions; the latter is a script beside the page.
    `script-src ${await hash(script)}${from === "files" ? " 'self' 'wasm-unsafe-eval'" : ""}`,
    `worker-src blob:${hasFiles ? " 'self'" : ""}`,
    `style-src ${await hash(style)}`,
    "img-src data: blob:",
    `connect-src ${from === "server" ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** Assembles a page. */
export async function pageText(
  parts: PageParts,
  from: PageFrom,
  { data = "", compared = false, live = false, first = "", worker }: {
    /** Data of a report. */
    readonly data?: string;
    /** Initial view, in the format of an address's hash. */
    readonly first?: string;
    /** Whether the server has a recording to compare with. */
    readonly compared?: boolean;
    /** Whether the server's recording is still being recorded. */
    readonly live?: boolean;
    /** File of the worker, relative to the page; by default, the worker is in the page. */
    readonly worker?: string;
  } = {},
): Promise<string> {
  // A script ends at the first `</script`, even within a string.
  const inScript = (text: string) => text.trim().replaceAll("</script", "<\\/script");
  const own = { ...parts, script: inScript(parts.script), style: parts.style.trim() };
  const csp = await contentSecurityPolicy(own, from, worker !== undefined);
  const values: Readonly<Record<string, string>> = {
    'data-from="FROM"': `data-from="${from}"${compared ? " data-compared" : ""}` +
      (live ? " data-live" : "") +
      (worker === undefined ? "" : ` data-worker="${worker}"`) +
      (first === "" ? "" : ` data-first="${first.replaceAll("&", "&amp;")}"`),
    'content="CSP"': `content="${csp}"`,
    "/*STYLE*/": own.style,
    "/*DATA*/": data,
    "/*WORKER*/": worker === undefined ? inScript(parts.worker) : "",
    "/*SCRIPT*/": own.script,
  };
  // One pass, so that inserted text is not replaced again. Hashes cover everything between the
  // tags.
  const places =
    /data-from="FROM"|content="CSP"|(?<!\s)\s*(\/\*(?:STYLE|DATA|WORKER|SCRIPT)\*\/)\s*/g;
  return parts.page.replace(places, (place) => values[place.trim()] ?? "");
}

/**
 * Assembles a report: one page with a profile, which requests nothing.
 *
 * @param data The profile, and other data of the recording.
 * @param first Initial view, in the format of an address's hash.
 */
export async function reportText<T extends ReportParts>(
  parts: PageParts,
  data: T,
  first = "",
): Promise<string> {
  return await pageText(parts, "report", { data: toBase64(await deflate(pack(data))), first });
}
