/** What the tests of this package have in common. */
import type { PerfDataReader } from "@perfdata/format";
import { BLOCK_SIZE, BlockText } from "./block_items.ts";
import { type DumpOptions, dumpRecords, type DumpStats } from "./dump.ts";

/** The files that there are: fixtures, and the corpus where it is. */
export async function recordings(): Promise<string[]> {
  const found: string[] = [];
  for (const folder of ["fixtures/recorded", "fixtures/synthesized"]) {
    for await (const { name, isFile } of Deno.readDir(folder)) {
      if (isFile && name.endsWith(".data")) found.push(`${folder}/${name}`);
    }
  }
  const corpus = Deno.env.get("PERFDATA_CORPUS") ?? "../shared/corpus";
  try {
    for (const row of (await Deno.readTextFile(`${corpus}/INDEX.tsv`)).split("\n").slice(1)) {
      const [path, , , kind] = row.split("\t");
      if (kind?.startsWith("PERF")) found.push(`${corpus}/${path}`);
    }
  } catch {
    console.log(`no corpus at ${corpus}: fixtures only`);
  }
  return found;
}

/**
 * What `dump` writes, made by way of blocks, without threads: each is written as soon as it is full.
 *
 * @param full Bytes with which a block is handed over: few make many blocks.
 */
export async function dumpByBlocks(
  reader: PerfDataReader,
  options: DumpOptions,
  full: number,
): Promise<{ stats: DumpStats; blocks: number }> {
  const memory = new SharedArrayBuffer(BLOCK_SIZE);
  const text = new BlockText(reader, { path: options.path, hex: true }, { memory: () => memory });
  let n = 0;
  const { stats, finish } = await dumpRecords(reader, options, {
    full,
    memory: () => memory,
    room: () => n,
    fill: () => text.put(n++, options.write),
    close: () => {},
  });
  finish();
  return { stats, blocks: n };
}
