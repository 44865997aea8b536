/**
 * Intel Processor Trace: decoding and encoding of packets, their text, and the instruction flow.
 *
 * Packets are those of the Intel SDM, Volume 3, chapter "Intel Processor Trace". Independent of
 * `perf.data` and of the runtime: bytes in, values or bytes out.
 *
 * @module
 */
export { BlockCache } from "./flow/block_cache.ts";
export {
  bytesRange,
  type CodeRange,
  type CodeSpace,
  type CodeWindow,
  compareAddress,
  fixedSpace,
  offsetIn,
} from "./flow/code.ts";
export { FlowDecoder, type FlowSink } from "./flow/flow_decoder.ts";
export {
  FlowCache,
  type FlowCounts,
  type FlowOptions,
  FlowStatus,
  noFlowCounts,
} from "./flow/flow_options.ts";
export { FlowOutput } from "./flow/flow_output.ts";
export { PacketEvents } from "./flow/packet_events.ts";
export { FLOW_ERROR_TEXT, FlowError, FlowEvent } from "./flow/flow_event.ts";
export { isRealCall, PathTable } from "./flow/path_table.ts";
export { type ClockRatios, TimeKeeper } from "./flow/time_keeper.ts";
export {
  decodePackets,
  decodePacketStream,
  type LocatedPacket,
  packetOf,
} from "./packets/decode_packets.ts";
export {
  type CompressedIp,
  compressIp,
  encodePacket,
  encodePackets,
} from "./packets/encode_packet.ts";
export * from "./packets/packet.ts";
export { PacketDecoder, type PacketDecoderOptions } from "./packets/packet_decoder.ts";
export { PacketKind } from "./packets/packet_kind.ts";
export { findPsb, PSB_SIZE } from "./packets/psb.ts";
export { PERF_TEXT_ROOM, PerfText, perfText, perfTextHeading } from "./text/perf_text.ts";
export {
  PTDUMP_TEXT_ROOM,
  PtdumpText,
  ptdumpText,
  type PtdumpTextOptions,
} from "./text/ptdump_text.ts";
export { InsnDecoder, type InsnMode } from "./x86/insn_decoder.ts";
export { InsnKind } from "./x86/insn_kind.ts";
