import { intAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_GUEST_USER,
} from "@perfdata/format/constants";
import type { MachineLog } from "../history/machine_log.ts";
import { KernelMaps, type KnownBinary } from "./kernel_maps.ts";
import type { AddressSpaces, MapRange } from "./machine_maps.ts";
import type { NameTable } from "./machine_names.ts";
import type { MapSources } from "./map_sources.ts";

/**
 * Process id of the default guest: of all guests whose maps were recorded without their process.
 */
export const DEFAULT_GUEST: number = 0;

/**
 * The guest that a guest record of process `pid` is about: perf writes -1 for the default guest,
 * too.
 */
export function guestOfPid(pid: number | undefined): number {
  return Math.max(DEFAULT_GUEST, pid ?? DEFAULT_GUEST);
}

/** Whether a CPU mode is that of a guest. */
export function isGuestMode(cpumode: number): boolean {
  return cpumode === PERF_RECORD_MISC_GUEST_KERNEL || cpumode === PERF_RECORD_MISC_GUEST_USER;
}

/**
 * Name of the machine that ran in a CPU mode: `host`, or `guest` with the process id of its
 * hypervisor.
 *
 * @param pid The process of the sample; -1 if unknown.
 *
 * @example
 * ```ts
 * import { machineName } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(machineName(1, 500), "host");
 * assertEquals(machineName(4, 500), "guest 500");
 * ```
 */
export function machineName(cpumode: number, pid: number): string {
  if (!isGuestMode(cpumode)) return "host";
  return pid < 0 ? "guest" : `guest ${pid}`;
}

interface Guest {
  readonly pid: number;
  readonly kernel: KernelMaps;
  /** Index of the user maps in the log. */
  readonly userSpace: number;
  /** Root of the tree of user maps. */
  userRoot: number;
  userOwner: number;
}

/**
 * The guests of a machine, by the process id of their hypervisor. Each has its own kernel and user
 * maps, which never replace those of the host or of another guest. A guest without kernel maps uses
 * those of the default guest, as in `machines__find_guest` of tools/perf/util/machine.c.
 */
export class GuestMachines {
  #log: MachineLog | undefined;
  readonly #names: NameTable;
  readonly #sources: MapSources;
  readonly #spaces: AddressSpaces;
  readonly #guests: Guest[] = [];
  readonly #byPid = new Map<number, Guest>();
  #known: readonly KnownBinary[] = [];

  /** Begins without guests. */
  constructor(names: NameTable, sources: MapSources, spaces: AddressSpaces) {
    this.#names = names;
    this.#sources = sources;
    this.#spaces = spaces;
  }

  /** Sets the log that every change is written to. */
  set log(log: MachineLog) {
    this.#log = log;
    for (const { kernel } of this.#guests) kernel.log = log;
  }

  /** Whether no guest has maps. */
  get isEmpty(): boolean {
    return this.#guests.length === 0;
  }

  /** Sets the binaries of the file's build id table, before any record is applied. */
  setKnown(binaries: readonly KnownBinary[]): void {
    this.#known = binaries;
  }

  /** Index of a guest's kernel maps in the log; -1 if the guest has no maps. */
  kernelSpace(pid: number): number {
    return this.#byPid.get(pid)?.kernel.space ?? -1;
  }

  /** Index of a guest's user maps in the log; -1 if the guest has no maps. */
  userSpace(pid: number): number {
    return this.#byPid.get(pid)?.userSpace ?? -1;
  }

  /** The map of a guest at an address, or -1. */
  map(pid: number, cpumode: number, hi: number, lo: number): number {
    const guest = this.#byPid.get(pid);
    let root = 0;
    if (cpumode === PERF_RECORD_MISC_GUEST_KERNEL) {
      root = guest?.kernel.root || (this.#byPid.get(DEFAULT_GUEST)?.kernel.root ?? 0);
    } else {
      root = guest?.userRoot ?? 0;
    }
    return root === 0 ? -1 : this.#spaces.find(root, hi, lo);
  }

  /**
   * Maps a range in the kernel of a guest.
   *
   * @param isX86 Whether the machine is an x86_64.
   */
  mapKernel(pid: number, source: number, range: MapRange, isX86: boolean): void {
    this.#guest(pid).kernel.map(source, range, isX86);
  }

  /** Maps a range in the user space of a guest. */
  mapUser(pid: number, source: number, range: MapRange): void {
    const guest = this.#guest(pid);
    // Owners of processes' trees are positive. A new owner makes the next insertion copy a tree
    // that is in the log.
    if (this.#log?.isSystemNoted(guest.userSpace) === true) guest.userOwner--;
    guest.userRoot = this.#spaces.insert(
      guest.userRoot,
      guest.userOwner,
      range,
      this.#sources.inGuest(source, pid),
    );
    this.#log?.system(guest.userSpace, guest.userRoot);
  }

  /** Roots of all trees, to keep when the trees are compacted. */
  get roots(): number[] {
    return this.#guests.flatMap(({ kernel, userRoot }) => [kernel.root, userRoot]);
  }

  /** Maps to keep even if no tree has them. */
  get kept(): number[] {
    return this.#guests.flatMap(({ kernel }) => [...kernel.kept]);
  }

  /** Sets the new numbers of {@link GuestMachines.roots} and {@link GuestMachines.kept}. */
  moved(roots: Int32Array, kept: Int32Array): void {
    let from = 0;
    for (const [i, guest] of this.#guests.entries()) {
      guest.kernel.root = intAt(roots, 2 * i);
      guest.userRoot = intAt(roots, 2 * i + 1);
      const count = guest.kernel.kept.length;
      guest.kernel.moved(kept.subarray(from, from + count));
      from += count;
    }
  }

  #guest(pid: number): Guest {
    let guest = this.#byPid.get(pid);
    if (guest === undefined) {
      // 0 is the kernel of the host.
      const space = 1 + 2 * this.#guests.length;
      const kernel = new KernelMaps(this.#names, this.#sources, this.#spaces, {
        space,
        guest: pid,
      });
      kernel.log = this.#log;
      kernel.setKnown(this.#known.filter((known) => guestOfPid(known.pid) === pid));
      guest = { pid, kernel, userSpace: space + 1, userRoot: 0, userOwner: 0 };
      this.#guests.push(guest);
      this.#byPid.set(pid, guest);
    }
    return guest;
  }
}
