/**
 * The page as one text: script, style, worker and, in a report, the data.
 *
 * @module
 */
import { deflate, pack, toBase64 } from "./pack.ts";
import type { ViewProfile } from "./view_profile.ts";

/** What a page is made of. */
export interface PageParts {
  /** `page.html`. */
  readonly page: string;
  /** Its style. */
  readonly style: string;
  /** Its script. */
  readonly script: string;
  /** The script of its worker. */
  readonly worker: string;
}

/** The data in a report. */
export interface ReportParts {
  /** What it shows; `undefined` if there are no samples. */
  readonly profile: ViewProfile | undefined;
  /** What that is compared with. */
  readonly base?: ViewProfile | undefined;
}

/** Where a page has its recording from. */
export type PageFrom = "server" | "report" | "files";

/** The hash of a text as a Content-Security-Policy has it. */
async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `'sha256-${toBase64(new Uint8Array(digest))}'`;
}

/**
 * What a page may do: its own script and style, known by their hashes, and workers that it makes itself.
 * Only one that a server has made may ask for something, and only that server.
 */
export async function contentSecurityPolicy(
  { style, script }: Pick<PageParts, "style" | "script">,
  from: PageFrom,
): Promise<string> {
  return [
    "default-src 'none'",
    // xz is expanded by WebAssembly.
    `script-src ${await hash(script)}${from === "files" ? " 'wasm-unsafe-eval'" : ""}`,
    "worker-src blob:",
    `style-src ${await hash(style)}`,
    "img-src data: blob:",
    `connect-src ${from === "server" ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** The page. */
export async function pageText(
  parts: PageParts,
  from: PageFrom,
  { data = "", compared = false, first = "" }: {
    /** What a report has in it. */
    readonly data?: string;
    /** What is shown at first, as the hash of an address says it. */
    readonly first?: string;
    /** Whether a server has something to compare with. */
    readonly compared?: boolean;
  } = {},
): Promise<string> {
  // A script ends at the first `</script`, wherever it stands.
  const inScript = (text: string) => text.trim().replaceAll("</script", "<\\/script");
  const own = { ...parts, script: inScript(parts.script), style: parts.style.trim() };
  const csp = await contentSecurityPolicy(own, from);
  const values: Readonly<Record<string, string>> = {
    'data-from="FROM"': `data-from="${from}"${compared ? " data-compared" : ""}` +
      (first === "" ? "" : ` data-first="${first.replaceAll("&", "&amp;")}"`),
    'content="CSP"': `content="${csp}"`,
    "/*STYLE*/": own.style,
    "/*DATA*/": data,
    "/*WORKER*/": inScript(parts.worker),
    "/*SCRIPT*/": own.script,
  };
  // All at once: what is put in is not looked at again. Hashes are of all that is between tags.
  const places =
    /data-from="FROM"|content="CSP"|(?<!\s)\s*(\/\*(?:STYLE|DATA|WORKER|SCRIPT)\*\/)\s*/g;
  return parts.page.replace(places, (place) => values[place.trim()] ?? "");
}

/**
 * A report: one page with a profile in it, which asks for nothing.
 *
 * @param data The profile, and what else the page shows of a recording.
 * @param first What is shown at first, as the hash of an address says it.
 */
export async function reportText<T extends ReportParts>(
  parts: PageParts,
  data: T,
  first = "",
): Promise<string> {
  return await pageText(parts, "report", { data: toBase64(await deflate(pack(data))), first });
}
