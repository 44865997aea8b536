import { engineOf } from "../engine/engine.ts";
import { openPass } from "../engine/pass.ts";
import type { Engine } from "../engine/engine.ts";
import { BlockReader, readIndex, wantedBlocks } from "./blocks.ts";
import type { Reading } from "./strategy.ts";

/** Reads samples block by block, in the order of the file, after the index gave the history. */
export async function readAnyOrder(
  { reader, recorded, described, consumers, options }: Reading,
): Promise<Engine> {
  const { filter = {}, progress } = options;
  const index = await readIndex(reader, consumers, options);
  const engine = engineOf(reader, recorded, described, index);
  const pass = await openPass(engine, consumers, options);
  const blocks = new BlockReader(reader);
  // The index has already reported damage.
  for (const block of wantedBlocks(index, filter)) {
    await blocks.read(block, (run) => pass.take(run));
    progress?.(block.to - block.from);
  }
  reader.stats = index.stats;
  pass.end();
  return engine;
}
