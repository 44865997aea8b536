/** Receives the changes of a machine while records are applied to it. */
export interface MachineLog {
  /**
   * A thread is from now on as it says.
   *
   * @param tid Its id.
   * @param pid Its process; -1 if it is not known.
   * @param comm Its name, a number of the names; -1 if none was recorded.
   * @param space The number of its address space.
   */
  thread(tid: number, pid: number, comm: number, space: number): void;
  /** A thread of this id begins: what was before was another one. */
  begin(tid: number): void;
  /** The tree of an address space is from now on that at `root`. */
  space(space: number, root: number): void;
  /**
   * The tree of a whole system is from now on that at `root`.
   *
   * @param number 0 for the kernel of the host; of guests as `GuestMachines` numbers their kernels and programs.
   */
  system(number: number, root: number): void;
  /** Whether the past of an address space that a process begins with is of interest. */
  keepsSpaceOf(pid: number): boolean;
  /** Whether the present tree of a space was noted before this record, and has to stay as it is. */
  isNoted(space: number): boolean;
  /** The same for the tree of a system. */
  isSystemNoted(number: number): boolean;
}
