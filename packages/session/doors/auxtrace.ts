/**
 * The streams of AUX data: Intel PT, Arm SPE and others.
 *
 * @module
 */
export { SPE_PACKET, SPE_REACH, SpePacket } from "../auxtrace/arm_spe_packet.ts";
export { type AuxBlock, type AuxBlockOptions, auxBlocks } from "../auxtrace/aux_blocks.ts";
export {
  copyAuxStream,
  copyAuxWhileReading,
  type CopyProgress,
  type CopyWhileReadingOptions,
} from "../auxtrace/aux_copy.ts";
export { auxManifest, type AuxManifestInput, type Json } from "../auxtrace/aux_manifest.ts";
export { type AuxBuffer, type AuxOverlapOptions, findAuxOverlap } from "../auxtrace/aux_overlap.ts";
export { stitchAuxTrace } from "../auxtrace/aux_stitch.ts";
export { AuxCollector, type AuxCollectorOptions, readAuxTrace } from "../auxtrace/aux_streams.ts";
export {
  auxFlagNames,
  type AuxPiece,
  type AuxStream,
  auxStreamBytes,
  type AuxTrace,
  type IntelPtConfig,
} from "../auxtrace/aux_trace.ts";
export { hasIntelPt, intelPtAhead, type SeenAhead } from "../auxtrace/intel_pt_ahead.ts";
export {
  isFilePath,
  libiptImageOptions,
  libiptOptions,
  LibiptSideband,
  libiptSidebandOptions,
  type MappedCode,
  noSidebandReason,
} from "../auxtrace/libipt.ts";
