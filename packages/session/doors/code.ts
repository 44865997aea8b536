/**
 * The code of recorded objects.
 *
 * @module
 */
export { AddressConsumer, type RecordedAddresses, recordedAddresses } from "../places/addresses.ts";
export { type CodeBytes, type DataRange, ObjectCodeReader } from "../places/code_bytes.ts";
export {
  ChunkCache,
  type CodeFiles,
  FileRange,
  type FileRangeParts,
  kernelImages,
  MAX_RANGE,
  type MemoryImage,
  memoryImages,
  type TextPoke,
} from "../places/code_images.ts";
