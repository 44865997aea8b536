/**
 * Events between blocks: the kinds of event of a {@linkcode FlowDecoder}.
 *
 * Each event has an address (`ip`), a 64-bit payload and a small number (`detail`). The comment of each
 * kind describes those that are used.
 */
export const FlowEvent = {
  /** The time has changed. */
  TIME: 0,
  /** Decoding begins, or continues after a loss, at ip. */
  SYNC: 1,
  /** Tracing is on, from ip. */
  ENABLED: 2,
  /** Tracing is off. Detail bit 0: payload is the target; bit 1: an asynchronous event at ip was the cause. */
  DISABLED: 3,
  /** An interrupt, exception or other event; ip: the next instruction, not executed; payload: the handler. */
  ASYNC: 4,
  /** Data was not decoded; ip: address, or 0 if unknown; detail: {@linkcode FlowError}. */
  ERROR: 5,
  /** CR3 was written; payload: its value; detail bit 0: VMX non-root. */
  PIP: 6,
  /** A VMCS was loaded; payload: its address. */
  VMCS: 7,
  /** Transactional state at ip; detail bit 0: in a transaction, bit 1: aborted. */
  TSX: 8,
  /** PTWRITE; payload: the operand, detail: its size in bytes; ip: the instruction, or 0. */
  PTWRITE: 9,
  /** Execution stopped at ip, or 0. */
  EXSTOP: 10,
  /** MWAIT; payload as in the packet. */
  MWAIT: 11,
  /** A C-state was entered; payload as in the packet. */
  PWRE: 12,
  /** C0 was entered; payload as in the packet. */
  PWRX: 13,
  /** Clock ratio; detail: core to bus. */
  CBR: 14,
  /** Control flow event at ip, or 0; detail: its type; payload: its vector. */
  CFE: 15,
  /** Data of the next control flow event; detail: its type. */
  EVD: 16,
  /** A TraceStop region was entered. */
  TRACESTOP: 17,
  /** A trigger fired at ip, or 0; payload as in the packet. */
  TRIG: 18,
  /** A block of PEBS items begins (BBP); detail: its type. */
  BLOCK_BEGIN: 19,
  /** An item of a PEBS block (BIP); detail: its number, payload: its value. */
  BLOCK_ITEM: 20,
  /** A PEBS block ends (BEP); ip: address, or 0. */
  BLOCK_END: 21,
  /** The mode of the code; detail: 64, 32 or 16. */
  MODE: 22,
  /** Interrupts were enabled or disabled (RFLAGS.IF) at ip, or 0; detail: 0 or 1. */
  INTERRUPTS: 23,
  /** A PSB+; ip: the address in it, or 0; offset: of its PSB; time: of its TSC. */
  PSB: 24,
  /**
   * With `quick`: execution is at ip, after an indirect branch or a return, or at the address of a packet. Detail 1:
   * a transaction was aborted there.
   */
  HOP: 25,
} as const;

/** One of the numbers of {@linkcode FlowEvent}. */
export type FlowEvent = typeof FlowEvent[keyof typeof FlowEvent];

/** Reasons why something could not be decoded. */
export const FlowError = {
  /** The bytes of the code are not available. */
  NO_CODE: 0,
  /** The bytes of the code are not an instruction. */
  BAD_CODE: 1,
  /** The packets do not fit the code. */
  MISMATCH: 2,
  /** A compressed return without a call before it. */
  NO_CALL: 3,
  /** Code that loops without a packet. */
  LOOP: 4,
  /** The processor lost packets (OVF). */
  OVERFLOW: 5,
  /** Bytes that are not a packet. */
  BAD_PACKET: 6,
  /** Data was lost between two pieces of the trace. */
  GAP: 7,
  /** The trace ends inside a packet. */
  TRUNCATED: 8,
  /** A packet that is invalid at this position. */
  UNEXPECTED: 9,
} as const;

/** One of the numbers of {@linkcode FlowError}. */
export type FlowError = typeof FlowError[keyof typeof FlowError];

/** A text for each {@linkcode FlowError}. */
export const FLOW_ERROR_TEXT: readonly string[] = [
  "no code at hand",
  "not an instruction",
  "packets do not fit the code",
  "return without its call",
  "code that loops without a packet",
  "overflow: the processor lost packets",
  "not a packet",
  "data lost between pieces",
  "trace ends inside a packet",
  "unexpected packet",
];
