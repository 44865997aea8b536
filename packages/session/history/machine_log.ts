/** Receives the changes of a machine while records are applied. */
export interface MachineLog {
  /**
   * A thread has these properties from now on.
   *
   * @param tid Its id.
   * @param pid Its process; -1 if unknown.
   * @param comm Its name, an index in the names; -1 if no name was recorded.
   * @param space The index of its address space.
   */
  thread(tid: number, pid: number, comm: number, space: number): void;
  /** A new thread with this id begins; an earlier thread with this id has ended. */
  begin(tid: number): void;
  /** The root of an address space's tree is `root` from now on. */
  space(space: number, root: number): void;
  /**
   * The root of a system's tree is `root` from now on.
   *
   * @param number 0 for the kernel of the host; for guests, the numbers of `GuestMachines`.
   */
  system(number: number, root: number): void;
  /** Whether the history of the address space that a process begins with is kept. */
  keepsSpaceOf(pid: number): boolean;
  /**
   * Whether the present tree of a space is needed at an earlier moment, so that it must not change.
   */
  isNoted(space: number): boolean;
  /**
   * Whether the present tree of a system is needed at an earlier moment, so that it must not
   * change.
   */
  isSystemNoted(number: number): boolean;
}
