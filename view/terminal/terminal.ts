import type { ColorMode } from "@perfdata/profile";
import { KeyReader } from "./keys.ts";
import { type Line, paintedLine } from "./lines.ts";

/** A program on the whole screen: it handles keys, and makes the lines of the screen. */
export interface ScreenProgram {
  /** Set when the program has to end. */
  readonly isOver: boolean;
  /** Size of the screen. */
  size: { readonly columns: number; readonly rows: number };
  /** Draws the screen, before an action that takes long. */
  redraw: () => void;
  /** Returns the lines of the screen, one for each row. */
  screen(): Line[];
  /** Handles a key. */
  key(key: string): Promise<void>;
}

/** A terminal. */
export interface Terminal {
  size(): { readonly columns: number; readonly rows: number };
  /** Writes text with escape sequences. */
  write(text: string): void;
  /** Reads the next input; `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>;
  /** Calls back on a resize; the result stops that. */
  onResize(changed: () => void): () => void;
  readonly colors: ColorMode;
}

/** Switches to the alternate screen, without cursor and line wrap; and back. */
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

/** Time in ms to wait for the rest of a sequence after Escape, which may arrive late over a network. */
const ESCAPE_WAIT = 60;

/** Time in ms after which a slow action is shown on the screen. */
const LONG = 150;

/** Draws a program on a terminal. */
export class Screen {
  /** The terminal that it is drawn on. */
  readonly terminal: Terminal;
  readonly #program: ScreenProgram;
  #shown: string[] = [];
  #isOn = false;

  constructor(program: ScreenProgram, terminal: Terminal) {
    this.#program = program;
    this.terminal = terminal;
  }

  /** Shows the program. */
  enter(): void {
    this.#shown = [];
    this.#isOn = true;
    this.terminal.write(ENTER);
  }

  /** Restores the terminal. */
  leave(): void {
    if (this.#isOn) this.terminal.write(LEAVE);
    this.#isOn = false;
  }

  /** Redraws all lines. */
  forget(): void {
    this.#shown = [];
    if (this.#isOn) this.terminal.write("\x1b[2J");
  }

  /** Writes the lines that changed. */
  draw(): void {
    if (!this.#isOn) return;
    const { columns, rows } = this.terminal.size();
    const before = this.#program.size;
    if (before.columns !== columns || before.rows !== rows) {
      this.#program.size = { columns, rows };
      this.forget();
    }
    let text = "";
    for (const [i, line] of this.#program.screen().entries()) {
      const painted = paintedLine(line, columns, this.terminal.colors);
      if (this.#shown[i] === painted) continue;
      this.#shown[i] = painted;
      text += `\x1b[${i + 1};1H\x1b[2K${painted}`;
    }
    if (text !== "") this.terminal.write(text);
  }
}

/**
 * Runs the browser until it ends: draws it, and passes input to it.
 *
 * @param grown Waits for a change of a recording that is being made; returns whether there may be
 * more.
 */
export async function runBrowser(
  browser: ScreenProgram,
  terminal: Terminal,
  screen: Screen = new Screen(browser, terminal),
  grown?: () => Promise<boolean>,
): Promise<void> {
  const reader = new KeyReader();
  const noMore = terminal.onResize(() => screen.draw());
  browser.redraw = () => screen.draw();
  screen.enter();
  try {
    let pending: Promise<Uint8Array | undefined> | undefined;
    let growing = grown?.();
    while (!browser.isOver) {
      screen.draw();
      pending ??= terminal.read();
      let keys: string[];
      const bytes = await (reader.isWaiting
        ? within(pending, ESCAPE_WAIT)
        : growing === undefined
        ? pending
        : Promise.race([pending, growing]));
      if (typeof bytes === "boolean") {
        growing = bytes ? grown?.() : undefined;
        continue;
      }
      if (bytes === LATE) {
        keys = reader.flush();
      } else {
        pending = undefined;
        if (bytes === undefined) {
          break;
        }
        keys = reader.take(bytes);
      }
      for (const key of keys) {
        if (key === "ctrl-l") {
          screen.forget();
        }
        const done = browser.key(key);
        // Show a slow action while it runs.
        if (await within(done, LONG) === LATE) {
          screen.draw();
        }
        await done;
        if (browser.isOver) {
          break;
        }
      }
    }
  } finally {
    noMore();
    screen.leave();
  }
}

const LATE = Symbol("late");

/** Returns the result of a promise, or `LATE` after a timeout. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | typeof LATE> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<typeof LATE>((done) => timer = setTimeout(() => done(LATE), ms));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
