// Uses Deno's workers, files and standard output: makes the text of blocks of a dump (see parallel.ts).
import { emptyBlocks } from "@perfdata/session/block-threads";
import { type BlockAbout, BlockText } from "./block_items.ts";

emptyBlocks<BlockAbout>((reader, about, blocks) => new BlockText(reader, about, blocks));
