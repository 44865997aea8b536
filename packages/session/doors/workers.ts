/**
 * Text that several threads write, part by part.
 *
 * @module
 */
export { type BlockService, serveBlocks } from "../workers/serve_blocks.ts";
export { serveText, type TextService } from "../workers/serve_text.ts";
export { type MakeText, type TextConsumer, type WriteText } from "../workers/text_part.ts";
export {
  type TextMade,
  textOfFile,
  type TextThreads,
  type TextWork,
} from "../workers/text_workers.ts";
