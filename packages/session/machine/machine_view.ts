import type { AddressSpaces } from "./machine_maps.ts";
import type { MapSource } from "./map_sources.ts";
import type { NameTable } from "./machine_names.ts";

/**
 * Threads and mappings for resolving samples. A thread number of a `Machine` is a thread at the
 * present moment; a thread number of a `History` is a thread at some moment.
 */
export interface MachineView {
  /** Paths, comms and symbols of the kernel, by index. */
  readonly names: NameTable;
  /** The maps of all address spaces. */
  readonly spaces: AddressSpaces;
  /** Process of each thread; -1 if unknown. */
  readonly pids: Int32Array;
  /** Thread id of each thread. */
  readonly tids: Int32Array;
  /** Comm of each thread: a number of the names; -1 if no comm was recorded. */
  readonly comms: Int32Array;
  /** The map at an address in a thread's address space, or -1. */
  map(thread: number, cpumode: number, hi: number, lo: number): number;
  /** Version of the maps of a thread: see `ProcessSpaces.version`. */
  spaceVersion(thread: number): number;
  /** Path or bracketed name of a map: a number of the names. */
  mapName(map: number): number;
  /** The origin of a map. */
  mapSource(map: number): MapSource;
}
