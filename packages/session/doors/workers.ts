/**
 * Text that several threads write, part by part.
 *
 * @module
 */
export { type BlockService, serveBlocks, type ThreadTask } from "../workers/serve_blocks.ts";
export {
  serveText,
  type TextOrder,
  type TextService,
  type TextTask,
} from "../workers/serve_text.ts";
export {
  type MakeText,
  type TextConsumer,
  TextPart,
  type TextPartAnswer,
  type TextPast,
  type WriteText,
} from "../workers/text_part.ts";
export { type TextMade, textOfFile, type TextWork } from "../workers/text_workers.ts";
