/** Runs `report`. */
import { runBrowser, Screen, type Terminal } from "../../view/terminal/terminal.ts";
import { Browser, type BrowserHost } from "../../view/terminal/browser.ts";
import { ViewEngine } from "../../view/data/view_engine.ts";
import { viewProfile } from "@perfdata/export/tree";
import { aboutAsync, isInteractive, oneFile, writeLine } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { chosenEvent, readProfile } from "../shared/open_profile.ts";
import type { AnnotatedPages } from "../shared/annotate_page.ts";
import { parseTime } from "../shared/time_flag.ts";
import { resolveTime } from "@perfdata/session";
import type { FLAGS } from "../report.ts";

type ReportFlags = FlagsOf<typeof FLAGS>;

export async function run(flags: ReportFlags): Promise<number> {
  const { on, value, operands } = flags;
  const name = oneFile(operands);
  if (on.stdio || name === "-" || !isInteractive()) return await asFuncs(name, flags);
  return await aboutAsync(name, async () => {
    const { profile: all, isWhole, source } = await readProfile("report", name, flags, {
      timed: true,
      itrace: value.itrace,
      debugInformation: !on["no-inline"],
    });
    const { profile, event } = chosenEvent("report", name, {
      profile: all,
      wanted: value.event,
      hasAll: true,
    });
    const engine = new ViewEngine(viewProfile(profile));
    let pages: AnnotatedPages | undefined;
    const host: BrowserHost = {
      async annotate(fn, shown) {
        const { AnnotatedPages } = await import("../shared/annotate_page.ts");
        const fullNames = on["full-names"];
        pages ??= new AnnotatedPages({ name, profile, source, engine, flags, fullNames });
        return await pages.page(fn, shown);
      },
      send: (command, text) => send(screen, command, text),
      async parseTime(text) {
        const range = parseTime(text);
        const { start, duration } = engine.profile;
        const first = BigInt(start);
        const span = [first, first + BigInt(Math.round(duration))] as const;
        const [from, to] = await resolveTime(range, () => Promise.resolve(span));
        const since = (time: bigint) => Math.max(0, Number(time - first));
        // A time range includes its end, a selection does not.
        return [
          range.first === undefined ? undefined : since(from),
          range.last === undefined || to >= span[1] ? undefined : since(to) + 1,
        ];
      },
    };
    const browser = new Browser(engine, host, {
      event,
      fullNames: on["full-names"],
      sort: on["no-children"] ? "self" : "total",
    });
    const terminal = realTerminal();
    const screen = new Screen(browser, terminal);
    const restore = () => {
      screen.leave();
      setRaw(false);
    };
    const ended = () => {
      restore();
      Deno.exit(143);
    };
    for (const signal of ["SIGTERM", "SIGHUP"] as const) Deno.addSignalListener(signal, ended);
    setRaw(true);
    try {
      await runBrowser(browser, terminal, screen);
    } finally {
      restore();
      for (const signal of ["SIGTERM", "SIGHUP"] as const) Deno.removeSignalListener(signal, ended);
    }
    return isWhole ? 0 : 1;
  });
}

/** Prints the table of `funcs`, for `--stdio` and without a terminal. */
async function asFuncs(name: string, { on, value }: ReportFlags): Promise<number> {
  const args = [
    ...Object.entries({ ...on, "stdio": false, "no-children": false }).flatMap(([flag, isOn]) =>
      isOn ? [`--${flag}`] : []
    ),
    ...Object.entries({ ...value, source: undefined }).flatMap(([flag, given]) =>
      given === undefined ? [] : [`--${flag}=${given}`]
    ),
  ];
  const { tool } = await import("../funcs.ts");
  return await tool.run([...args, "--", name]);
}

function setRaw(isRaw: boolean): void {
  try {
    Deno.stdin.setRaw(isRaw);
  } catch {
    // The terminal is closed.
  }
}

function realTerminal(): Terminal {
  const buffer = new Uint8Array(4096);
  const encoder = new TextEncoder();
  return {
    colors: Deno.noColor ? "attributes" : "colors",
    size: () => Deno.consoleSize(),
    write(text) {
      const bytes = encoder.encode(text);
      try {
        for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
      } catch {
        // The terminal is closed; the next read ends the browser.
      }
    },
    async read() {
      // Reading from a closed terminal fails instead of returning the end of input.
      const count = await Deno.stdin.read(buffer).catch(() => null);
      return count === null ? undefined : buffer.slice(0, count);
    },
    onResize(changed) {
      Deno.addSignalListener("SIGWINCH", changed);
      return () => Deno.removeSignalListener("SIGWINCH", changed);
    },
  };
}

const SHELL = "/bin/sh";

/** Runs a shell command of the user on the terminal, with a text on its standard input. */
async function send(screen: Screen, command: string, text: string): Promise<string> {
  const { state } = Deno.permissions.querySync({ name: "run", command: SHELL });
  if (state !== "granted") return `commands may not be run here: deno run --allow-run=${SHELL}`;
  screen.leave();
  setRaw(false);
  // Ctrl-C ends only the command.
  const ignore = () => {};
  Deno.addSignalListener("SIGINT", ignore);
  try {
    const child = new Deno.Command(SHELL, { args: ["-c", command], stdin: "piped" }).spawn();
    const writer = child.stdin.getWriter();
    try {
      await writer.write(new TextEncoder().encode(text));
      await writer.close();
    } catch {
      // The command closed its standard input early.
    }
    const { code } = await child.status;
    writeLine(`report: ${code === 0 ? "done" : `exit code ${code}`}: Enter goes back`);
    await Deno.stdin.read(new Uint8Array(4096));
    return code === 0 ? "" : `${command}: exit code ${code}`;
  } finally {
    Deno.removeSignalListener("SIGINT", ignore);
    setRaw(true);
    screen.enter();
  }
}
