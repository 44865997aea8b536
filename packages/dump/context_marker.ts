/** CPU modes that the context markers of call chains switch to, by their low 32 bits. */
const CONTEXT_MODES: ReadonlyMap<number, number> = new Map([
  [-128, 1], // PERF_CONTEXT_KERNEL: PERF_RECORD_MISC_KERNEL
  [-512, 2], // PERF_CONTEXT_USER: PERF_RECORD_MISC_USER
  [-640, 2], // PERF_CONTEXT_USER_DEFERRED
  [-2176, 4], // PERF_CONTEXT_GUEST_KERNEL: PERF_RECORD_MISC_GUEST_KERNEL
  [-2560, 5], // PERF_CONTEXT_GUEST_USER: PERF_RECORD_MISC_GUEST_USER
]);
/** The lowest marker, `PERF_CONTEXT_MAX`. */
const CONTEXT_MAX = -4095;

/**
 * Whether an entry of a call chain is no address but a marker, after which addresses are of another
 * CPU mode (`enum perf_callchain_context` of `perf_event.h`).
 */
export function isContextMarker(hi: number, lo: number): boolean {
  return (hi | 0) === -1 && (lo | 0) >= CONTEXT_MAX && (lo | 0) < 0;
}

/** The CPU mode that a context marker switches to, by its low half; -1 where it is not known. */
export function contextMode(lo: number): number {
  return CONTEXT_MODES.get(lo | 0) ?? -1;
}
