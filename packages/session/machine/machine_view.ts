import type { AddressSpaces } from "./machine_maps.ts";
import type { MapSource } from "./map_sources.ts";
import type { NameTable } from "./machine_names.ts";

/**
 * Resolves samples: the threads of a machine, by number, and their mappings. For a `Machine`, a number
 * is a thread at the present moment; for a `History`, a thread at some moment.
 */
export interface MachineView {
  /** Paths, comms and symbols of the kernel, by number. */
  readonly names: NameTable;
  /** What is mapped where. */
  readonly spaces: AddressSpaces;
  /** By thread: its process, -1 if that is not known. */
  readonly pids: Int32Array;
  /** By thread: its id. */
  readonly tids: Int32Array;
  /** By thread: its name, a number of the names; -1 if none was recorded. */
  readonly comms: Int32Array;
  /** The map that holds an address as a thread sees it, or -1. */
  map(thread: number, cpumode: number, hi: number, lo: number): number;
  /** A number that says what is mapped for a thread: see `ProcessSpaces.version`. */
  spaceVersion(thread: number): number;
  /** Path or bracketed name of a map: a number of the names. */
  mapName(map: number): number;
  /** What a map was made from. */
  mapSource(map: number): MapSource;
}
