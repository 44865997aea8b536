/**
 * Intel Processor Trace: packets to bytes and back, and the text of packets.
 *
 * Knows the packets of the Intel SDM, Volume 3, chapter "Intel Processor Trace", and nothing of
 * `perf.data`. Runs anywhere: bytes in, values or bytes out.
 *
 * @module
 */
export { decodePackets, decodePacketStream } from "./decode_packets.ts";
export { encodePacket, encodePackets } from "./encode_packet.ts";
export { BlockCache } from "./flow/block_cache.ts";
export { FlowDecoder } from "./flow/flow_decoder.ts";
export { FlowError, FlowEvent } from "./flow/flow_event.ts";
export { PathTable } from "./flow/path_table.ts";
export type { Packet } from "./packet.ts";
export { PacketDecoder } from "./packet_decoder.ts";
export { PacketKind } from "./packet_kind.ts";
export { PerfText } from "./perf_text.ts";
export { findPsb, PSB_SIZE } from "./psb.ts";
export { PtdumpText } from "./ptdump_text.ts";
export { InsnDecoder } from "./x86/insn_decoder.ts";
