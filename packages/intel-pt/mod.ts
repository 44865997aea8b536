/**
 * Intel Processor Trace: decoding and encoding of packets, their text, and the instruction flow.
 *
 * Packets are those of the Intel SDM, Volume 3, chapter "Intel Processor Trace". Independent of
 * `perf.data` and of the runtime: bytes in, values or bytes out.
 *
 * @module
 */
export { decodePackets, decodePacketStream } from "./packets/decode_packets.ts";
export { encodePacket, encodePackets } from "./packets/encode_packet.ts";
export { BlockCache } from "./flow/block_cache.ts";
export { FlowDecoder } from "./flow/flow_decoder.ts";
export { FlowError, FlowEvent } from "./flow/flow_event.ts";
export { PathTable } from "./flow/path_table.ts";
export type { Packet } from "./packets/packet.ts";
export { PacketDecoder } from "./packets/packet_decoder.ts";
export { PacketKind } from "./packets/packet_kind.ts";
export { PerfText } from "./text/perf_text.ts";
export { findPsb, PSB_SIZE } from "./packets/psb.ts";
export { PtdumpText } from "./text/ptdump_text.ts";
export { InsnDecoder } from "./x86/insn_decoder.ts";
