/** Reasons for the end of a walk. */
export const WALK_END = {
  /** The thread's first function was reached. */
  START: 0,
  /** The next frame needs memory outside of the stack copy. */
  STACK: 1,
  /** The object has no call frame information, or none for the address. */
  NO_CFI: 2,
  /** The object's file is missing, or from another build. */
  NO_OBJECT: 3,
  /** A return address is not mapped. */
  NOT_MAPPED: 4,
  /** Call frame information is damaged, or refers to an unknown value. */
  DAMAGED: 5,
  /** A frame does not lie above its callee. */
  CYCLE: 6,
  /** The limit of frames was reached. */
  LIMIT: 7,
} as const;
