import type { Address } from "./address.ts";
import type { SymbolBundle } from "../bundle/bundle.ts";
import type { ElfOpenOptions } from "../elf/elf_file.ts";
import type { SearchPlaces } from "../files/file_search.ts";
import type { SymbolObject } from "./resolution.ts";
import type { SymbolInfo } from "../table/symbol_table.ts";

/** Options for finding and showing symbols, common to all tools. */
export interface SymbolOptions {
  /** `--symfs`: directory with the recorded machine's files. */
  readonly symfs?: string;
  /** `--vmlinux`: the kernel's ELF file. With this or `kallsyms`, no other file is searched. */
  readonly vmlinux?: string;
  /** `--kallsyms`: a copy of `/proc/kallsyms`. */
  readonly kallsyms?: string;
  /** `--guest-vmlinux`: the ELF file of the guests' kernel. */
  readonly guestVmlinux?: string;
  /** `--guest-kallsyms`: a copy of the guests' `/proc/kallsyms`. */
  readonly guestKallsyms?: string;
  /** `--guestmount`: folder with each guest's root, named by its hypervisor's process id. */
  readonly guestMount?: string;
  /** `false` (`--no-demangle`) shows mangled names. */
  readonly demangle?: boolean;
  /** `false` shows C++ functions without parameters and return types, as `perf` does. */
  readonly parameters?: boolean;
  /** `false` skips debug information: no lines, no inlined functions. */
  readonly debugInformation?: boolean;
}

/** Properties of the recorded machine. */
export interface RecordedMachine {
  /** Release of the kernel (`uname -r`). */
  readonly release?: string | undefined;
  /** Architecture (`uname -m`). */
  readonly arch?: string | undefined;
  /** An object's symbols in the recording, as simpleperf and hiperf write them. */
  readonly symbolsOf?: (object: SymbolObject) => Promise<RecordedSymbolsOf | undefined>;
}

/** The symbols of one object in a recording. */
export interface RecordedSymbolsOf {
  /** The symbol at an address in the object. */
  find(address: Address): SymbolInfo | undefined;
}

/** Options of `SymbolResolver`. */
export interface ResolverOptions extends SymbolOptions {
  /** `--symbols`: a bundle, which is searched before files. */
  readonly bundle?: SymbolBundle;
  /** Places to search; `symfs` is added. */
  readonly places?: SearchPlaces;
  /**
   * The recorded machine: its release gives places of `vmlinux`, and files of another architecture
   * are refused. It is read whenever an object is opened, since a pipe may state it after the first
   * stacks are unwound.
   */
  readonly machine?: RecordedMachine;
  /** Options for opening ELF files. */
  readonly elf?: ElfOpenOptions;
  /**
   * Called between parts of the work, and awaited if it returns a promise: a turn of the event
   * loop.
   */
  readonly turn?: () => Promise<void> | undefined;
}
