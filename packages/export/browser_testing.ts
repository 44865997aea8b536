/** A browser for tests: Debian's Chromium, driven by playwright-core, without a network. */
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import type { Browser, Page } from "npm:playwright-core@1.65.1";

/** Milliseconds until the browser counts as hanging, even on a slow and busy machine. */
const TIMEOUT = 300_000;

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/**
 * Paths of possible browsers. Only the PATH is searched, since starting them needs other programs
 * from there.
 */
function candidates(): string[] {
  const folders = (Deno.env.get("PATH") ?? "").split(":");
  const found = folders.flatMap((folder) => NAMES.map((name) => `${folder}/${name}`));
  return [Deno.env.get("PERFDATA_BROWSER") ?? "", ...found];
}

/** Errors and requests of a page while it was open. */
export interface PageReport {
  /** Uncaught errors and dialogs. */
  readonly errors: string[];
  /** Requested addresses other than files. */
  readonly requests: string[];
}

/** The browser of a test file's tests, or why there is none. */
let shared: Promise<Browser | string> | undefined;

/**
 * Returns why no page can be opened on this machine; `undefined` if one can. The browser that it
 * starts opens the pages of all tests of the file, and is closed after them.
 */
export async function noBrowser(): Promise<string | undefined> {
  if (shared === undefined) {
    shared = launch([]).catch((error: Error) => error.message);
    Deno.test.afterAll(async () => {
      const browser = await shared;
      if (typeof browser !== "string") await browser?.close();
    });
  }
  const browser = await shared;
  return typeof browser === "string" ? browser : undefined;
}

/** Starts the browser. Throws if there is none, or it does not start. */
async function launch(more: readonly string[]): Promise<Browser> {
  const executablePath = candidates().find((name) => {
    try {
      return name !== "" && Deno.statSync(name).isFile;
    } catch {
      return false;
    }
  });
  if (executablePath === undefined) {
    throw new Error("Chromium is not installed (Debian: apt-get install chromium)");
  }
  // deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
  const { chromium } = await import("npm:playwright-core@1.65.1");
  return await chromium.launch({
    executablePath,
    // It creates a socket there, whose path may have at most 107 bytes.
    env: { ...Deno.env.toObject(), TMPDIR: "/tmp" },
    timeout: TIMEOUT,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more,
    ],
  });
}

/**
 * Opens a file or an address of this machine in a browser, and closes it after `action`. A page
 * shares nothing with those before it but the process. A file has no network.
 *
 * Call {@link noBrowser} first; otherwise, or with `args`, the page has a browser of its own.
 */
export async function withPage<T>(
  path: string,
  action: (page: Page, report: PageReport) => Promise<T>,
  options: {
    readonly colorScheme?: "dark" | "light";
    readonly args?: readonly string[];
    readonly viewport?: { readonly width: number; readonly height: number };
  } = {},
): Promise<T> {
  const isServed = path.startsWith("http://127.0.0.1:");
  const common = options.args === undefined ? await shared : undefined;
  const browser = typeof common === "object" ? common : await launch(options.args ?? []);
  const context = await browser.newContext({
    viewport: options.viewport ?? { width: 1200, height: 800 },
    colorScheme: options.colorScheme ?? "light",
    offline: !isServed,
  });
  try {
    context.setDefaultTimeout(TIMEOUT);
    const page = await context.newPage();
    const report: PageReport = { errors: [], requests: [] };
    page.on("pageerror", (error) => report.errors.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") report.errors.push(message.text());
    });
    page.on("dialog", (dialog) => {
      report.errors.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!/^(file|data|blob):/.test(request.url())) report.requests.push(request.url());
    });
    await page.goto(isServed ? path : `file://${path}`);
    return await action(page, report);
  } finally {
    await context.close();
    if (browser !== common) await browser.close();
  }
}
