/**
 * Samples as `perf script` prints them.
 *
 * @module
 */
export { type CodePieces } from "../script/script.ts";
export {
  asksFor,
  CODE_FIELDS,
  FieldError,
  type FieldWish,
  parseFields,
  refuseOfTraces,
  type RowNeeds,
  rowNeeds,
  SCRIPT_FIELDS,
  type ScriptField,
} from "../script/script_fields.ts";
export { type PlaceWants } from "../script/script_places.ts";
export {
  type RowBlock,
  type RowCounts,
  ScriptRows,
  type ShownRecords,
} from "../script/script_rows.ts";
export {
  type ScriptName,
  type ScriptPart,
  ScriptText,
  type ScriptTextOptions,
} from "../script/script_text.ts";
export { type ClockTimes } from "../script/time_of_day.ts";
export {
  makeScript,
  type ScriptHost,
  type ScriptThreads,
  type ScriptWish,
  type SentScript,
  writeScript,
  type WriteScriptOptions,
  type WrittenScript,
} from "../script/write_script.ts";
