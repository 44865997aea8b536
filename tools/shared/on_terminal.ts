/** Runs a program on the whole screen of the terminal, and restores the terminal at its end. */
import {
  runBrowser,
  type Screen,
  type ScreenProgram,
  type Terminal,
} from "../../view/terminal/terminal.ts";
import type { Keyboard } from "./keyboard.ts";

/** The terminal at standard output. */
export function terminalWith(keyboard: Keyboard): Terminal {
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
    read: () => keyboard.read(),
    onResize(changed) {
      Deno.addSignalListener("SIGWINCH", changed);
      return () => Deno.removeSignalListener("SIGWINCH", changed);
    },
  };
}

/**
 * Runs a program until it ends, or a signal ends this process.
 *
 * @param grown See {@linkcode runBrowser}.
 */
export async function runOnTerminal(
  program: ScreenProgram,
  screen: Screen,
  keyboard: Keyboard,
  grown?: () => Promise<boolean>,
): Promise<void> {
  const restore = () => {
    screen.leave();
    keyboard.setRaw(false);
  };
  const ended = () => {
    restore();
    Deno.exit(143);
  };
  for (const signal of ["SIGTERM", "SIGHUP"] as const) Deno.addSignalListener(signal, ended);
  try {
    keyboard.setRaw(true);
    await runBrowser(program, screen.terminal, screen, grown);
  } finally {
    restore();
    for (const signal of ["SIGTERM", "SIGHUP"] as const) Deno.removeSignalListener(signal, ended);
  }
}
