/**
 * Intel Processor Trace: packets to bytes and back, and the text of packets.
 *
 * Knows the packets of the Intel SDM, Volume 3, chapter "Intel Processor Trace", and nothing of
 * `perf.data`. Runs anywhere: bytes in, values or bytes out.
 *
 * @module
 */

export * from "./decode_packets.ts";
export * from "./encode_packet.ts";
export * from "./flow/block_cache.ts";
export * from "./flow/code.ts";
export * from "./flow/flow_decoder.ts";
export * from "./flow/flow_event.ts";
export * from "./flow/path_table.ts";
export * from "./flow/time_keeper.ts";
export * from "./packet.ts";
export * from "./packet_decoder.ts";
export * from "./packet_kind.ts";
export * from "./perf_text.ts";
export * from "./psb.ts";
export * from "./ptdump_text.ts";
export * from "./x86/insn_decoder.ts";
export * from "./x86/insn_kind.ts";
