import type { Address } from "./address.ts";
import type { SymbolBundle } from "../bundle/bundle.ts";
import type { ElfOpenOptions } from "../elf/elf_file.ts";
import type { SearchPlaces } from "../files/file_search.ts";
import type { SymbolObject } from "./resolution.ts";
import type { SymbolInfo } from "../table/symbol_table.ts";

/** Where symbols are taken from and how they are shown: what all tools have in common. */
export interface SymbolOptions {
  /** `--symfs`: a directory in which the files of the recorded machine lie. */
  readonly symfs?: string;
  /** `--vmlinux`: the kernel's ELF file. Where it or `kallsyms` is given, no other is looked for. */
  readonly vmlinux?: string;
  /** `--kallsyms`: a copy of `/proc/kallsyms`. */
  readonly kallsyms?: string;
  /** `--guest-vmlinux`: the ELF file of the guests' kernel. */
  readonly guestVmlinux?: string;
  /** `--guest-kallsyms`: a copy of the guests' `/proc/kallsyms`. */
  readonly guestKallsyms?: string;
  /** `--guestmount`: a folder with the root of each guest, by the process id of its hypervisor. */
  readonly guestMount?: string;
  /** `--no-demangle` makes it `false`: names as the files have them. */
  readonly demangle?: boolean;
  /** `false` shows C++ functions without their parameters and return types, as `perf` does. */
  readonly parameters?: boolean;
  /** `false` leaves debug information alone: functions by symbol only, no lines, nothing inlined. */
  readonly debugInformation?: boolean;
}

/** Known properties of the recorded machine. */
export interface RecordedMachine {
  /** Release of its kernel (`uname -r`). */
  readonly release?: string | undefined;
  /** Its architecture (`uname -m`). */
  readonly arch?: string | undefined;
  /** The symbols of an object that the recording has itself, as simpleperf and hiperf write them. */
  readonly symbolsOf?: (object: SymbolObject) => Promise<RecordedSymbolsOf | undefined>;
}

/** The symbols of one object that a recording has itself. */
export interface RecordedSymbolsOf {
  /** The symbol at an address of the object. */
  find(address: Address): SymbolInfo | undefined;
}

/** Options of `SymbolResolver`. */
export interface ResolverOptions extends SymbolOptions {
  /** `--symbols`: a bundle, which is asked before any file is. */
  readonly bundle?: SymbolBundle;
  /** Where files are looked for; `symfs` is added. */
  readonly places?: SearchPlaces;
  /**
   * The recorded machine: its release says where a `vmlinux` may be, and files of another
   * architecture are refused. It is read whenever an object is opened: what arrives in a pipe says
   * it after the first stacks have to be unwound.
   */
  readonly machine?: RecordedMachine;
  /** How ELF files are opened. */
  readonly elf?: ElfOpenOptions;
  /** Called between pieces of work, and awaited if it returns a promise: a turn of the event loop. */
  readonly turn?: () => Promise<void> | undefined;
}
