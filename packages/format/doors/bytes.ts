/**
 * Bytes, columns and text: sources and sinks in memory, checked readers of typed arrays, texts as a
 * terminal and JSON have them, errors.
 *
 * @module
 */
export { byteAt, floatAt, intAt, numberAt, shortAt, uintAt } from "../columns/elements.ts";
export { enlarge, joinBytes } from "../columns/enlarge.ts";
export { partitionPoint } from "../columns/partition_point.ts";
export {
  type Diagnostics,
  type ErrorPlace,
  PerfDataError,
  type PerfDataErrorCode,
} from "../error.ts";
export { groupBy, type Settleable, settleable } from "../es2024.ts";
export { IdMap } from "../header/id_map.ts";
export { EventLoopTurns, nextTurn } from "../sources/event_loop.ts";
export { checkMemory, OutOfMemory, watchMemory } from "../sources/memory.ts";
export {
  type ByteSink,
  type MemorySink,
  memorySink,
  type RandomAccessSink,
} from "../sources/sink.ts";
export {
  type AnySource,
  blobSource,
  type ByteSource,
  bytesSource,
  ForwardReader,
  isRandomAccess,
  putBack,
  type RandomAccessSource,
  type StreamSource,
  streamSource,
  type SyncSource,
  type TempFile,
} from "../sources/source.ts";
export {
  ByteReader,
  ByteWriter,
  type EventContext,
  type Residue,
  type StructContext,
  type Trace,
} from "../struct/cursor.ts";
export { ByteText, TextPool } from "../text/byte_text.ts";
export { jsonLine, snakeKeys } from "../text/json_line.ts";
export { decodeText, encodeText } from "../text/text.ts";
export {
  DECIMAL4,
  decimalDigits,
  HEX2,
  hex4,
  hexDigits,
  LITTLE_ENDIAN,
  OVERSHOOT,
  Piece,
  piece,
  putAscii,
  putBytes,
  putDecimal,
  putDecimal4,
  putDecimal64,
  putDecimal64At,
  putDecimal8,
  putHex,
  putHex16,
  putHex16At,
  putHex2,
  putHex4,
  putHex8,
  putHexBytes,
  putPrefixedHex,
  putPrefixedHexAt,
  putSigned64,
  putUntilNul,
  restOfSeconds,
  wholeSeconds,
} from "../text/text_bytes.ts";
export { alignedRows, inLine, safeCell, visible, VisibleText } from "../text/visible.ts";
