import { type Engine, engineOf } from "../engine/engine.ts";
import { openPass } from "../engine/pass.ts";
import { bytesOf, WINDOW_BYTES, windowsOf } from "../windows/plan.ts";
import { WindowReader } from "../windows/window_reader.ts";
import { readIndex } from "./blocks.ts";
import type { Reading } from "./strategy.ts";

/**
 * Reads the parts of a file in the time filter, in order of time, after the index gave the history.
 */
export async function readWindows(
  { reader, recorded, described, consumers, options }: Reading,
): Promise<Engine | undefined> {
  const { filter = {}, progress } = options;
  const index = await readIndex(reader, consumers, options, true);
  if (index.isCompressed || index.stats.damages > 0) return undefined;
  const windows = windowsOf(index, { windowBytes: WINDOW_BYTES, time: filter.time });
  if (windows === undefined) return undefined;
  const engine = engineOf(reader, recorded, described, index);
  const pass = await openPass(engine, consumers, options);
  const own = new WindowReader(reader, index.rounds, index.isTimed, (run) => pass.take(run));
  for (const window of windows) {
    await own.read(window);
    progress?.(bytesOf(window));
  }
  reader.stats = index.stats;
  pass.end();
  return engine;
}
