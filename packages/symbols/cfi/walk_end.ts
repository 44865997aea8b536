/** Why a walk ended. */
export const WALK_END = {
  /** The first function of the thread was reached. */
  START: 0,
  /** What was needed next lies outside of the copy of the stack. */
  STACK: 1,
  /** An object has no call frame information, or none for the address. */
  NO_CFI: 2,
  /** The file of an object is missing, or is from another build. */
  NO_OBJECT: 3,
  /** A return address lies where nothing is mapped. */
  NOT_MAPPED: 4,
  /** Call frame information is damaged, or needs what is not known. */
  DAMAGED: 5,
  /** The frames go in circles. */
  CYCLE: 6,
  /** As many frames as are wanted were found. */
  LIMIT: 7,
} as const;
