import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_KERNEL,
} from "@perfdata/format/constants";
import { KSYMBOL, layoutOf } from "@perfdata/format/records";
import type { MachineLog } from "../history/machine_log.ts";
import type { AddressSpaces, MapRange } from "./machine_maps.ts";
import type { NameTable } from "./machine_names.ts";
import type { MapSources } from "./map_sources.ts";

/** Offsets of the fields of a KSYMBOL record. */
const SYMBOL = layoutOf(KSYMBOL);
const KSYMBOL_UNREGISTER = 1;
const ENTRY_TRAMPOLINE = "__entry_SYSCALL_64_trampoline";
/** The kernel's tree may be changed in place, unless the log keeps a state of it. */
const OWNER = 0;

/** A binary in the file's build id table. */
export interface KnownBinary {
  /** Its path or bracketed name. */
  readonly filename: string;
  /** `misc` of the build id event: the CPU mode that the binary runs in. */
  readonly misc: number;
  /** The process that runs the guest; -1 or undefined for the host. */
  readonly pid?: number | undefined;
}

/** The machine that a kernel belongs to. */
export interface KernelOwner {
  /** Index of its maps in the log; 0 for the host. */
  readonly space: number;
  /** Process id of the guest; -1 for the host. */
  readonly guest: number;
}

/** The maps of a kernel: the kernel itself, its modules, and code named by KSYMBOL records. */
export class KernelMaps {
  /** The tree of the kernel's space in `AddressSpaces`. */
  root: number = 0;
  /** Log of every change. */
  log: MachineLog | undefined;
  #owner = OWNER;
  readonly #names: NameTable;
  readonly #sources: MapSources;
  readonly #spaces: AddressSpaces;
  /**
   * Names of binaries by their short names. Of several binaries with one short name, the first
   * counts.
   */
  readonly #binaries = new Map<string, number>();
  /** The first binary that is no module. */
  #kernel: number | undefined;
  /** Symbols of KSYMBOL records, by their map. */
  readonly #ksymbols = new Map<number, { name: number; size: number }>();
  #kernelMap = -1;
  /** Index of these maps in the log. */
  readonly space: number;
  readonly #guest: number;
  /** Prefix of the name of the kernel's own map, before a guest's process id. */
  readonly #prefix: string;

  /** Starts without maps, for the kernel of the host by default. */
  constructor(
    names: NameTable,
    sources: MapSources,
    spaces: AddressSpaces,
    { space, guest }: KernelOwner = { space: 0, guest: -1 },
  ) {
    this.space = space;
    this.#guest = guest;
    this.#prefix = guest < 0 ? "[kernel.kallsyms" : "[guest.kernel.kallsyms";
    this.#names = names;
    this.#sources = sources;
    this.#spaces = spaces;
  }

  /** Sets the binaries of the file's build id table. */
  setKnown(binaries: readonly KnownBinary[]): void {
    const mode = this.#guest < 0 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_GUEST_KERNEL;
    for (const { filename, misc } of binaries) {
      if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) !== mode) continue;
      const { name, module } = kernelModuleName(filename);
      this.#binary(module ? name : baseName(filename), module, this.#names.internText(filename));
    }
  }

  /**
   * The name of the binary with this short name; the binary is added with `name` if there is none.
   */
  #binary(shortName: string, module: boolean, name: number): number {
    if (!module) this.#kernel ??= name;
    const known = this.#binaries.get(shortName);
    if (known === undefined) this.#binaries.set(shortName, name);
    return known ?? name;
  }

  /** Maps to keep even if no tree has them, for {@link KernelMaps.moved}. */
  get kept(): Int32Array {
    return Int32Array.from([this.#kernelMap, ...this.#ksymbols.keys()]);
  }

  /** Sets the new numbers of {@link KernelMaps.kept}. */
  moved(maps: Int32Array): void {
    const symbols = [...this.#ksymbols.values()];
    this.#kernelMap = maps[0] as number;
    this.#ksymbols.clear();
    symbols.forEach((symbol, i) => this.#ksymbols.set(maps[i + 1] as number, symbol));
  }

  /** The symbol of KSYMBOL records at an address; `undefined` if there is none. */
  symbol(hi: number, lo: number): { readonly name: number; readonly offset: number } | undefined {
    const spaces = this.#spaces;
    const map = spaces.find(this.root, hi, lo);
    const symbol = this.#ksymbols.get(map);
    if (symbol === undefined) return undefined;
    // deno-lint-ignore perfdata/halves -- a distance within a symbol
    const offset = (hi - (spaces.startHi[map] as number)) * 2 ** 32 + lo -
      (spaces.startLo[map] as number);
    return offset < symbol.size ? { name: symbol.name, offset } : undefined;
  }

  /**
   * Maps the kernel itself, a module, or code next to it.
   *
   * @param source The mapped file of the record, whose name may differ from the binary's.
   * @param isX86 Whether the machine is an x86_64.
   */
  map(source: number, range: MapRange, isX86: boolean): void {
    const { name, buildId } = this.#sources.get(source);
    const text = this.#names.text(name);
    const isKernel = text.startsWith(this.#prefix);
    if (text.startsWith("/") || (!isKernel && text.startsWith("["))) {
      const { name: shortName, module } = kernelModuleName(text);
      this.#add(this.#binary(shortName, module, name), range, buildId);
    } else if (isKernel) {
      const end = text.indexOf("]") + 1;
      const own = this.#guest < 0 ? "[kernel.kallsyms]" : end === 0 ? text : text.slice(0, end);
      const kernel = this.#kernel ?? this.#binary(own, false, this.#names.internText(own));
      if (this.#kernelMap >= 0) this.#remove(this.#kernelMap);
      // Some files have a kernel map from 0 with size 0, which means all addresses.
      const { startHi, startLo, endHi, endLo } = range;
      const all = (startHi | startLo | endHi | endLo) === 0;
      this.#kernelMap = this.#add(
        kernel,
        all ? { ...range, endHi: 0xffff_ffff, endLo: 0xffff_ffff } : range,
        buildId,
      );
    } else if (isX86 && text.startsWith(ENTRY_TRAMPOLINE)) {
      if (this.#kernel !== undefined) this.#add(this.#kernel, range, buildId);
    }
  }

  /** Applies the KSYMBOL record in `[start, end)`. */
  ksymbol(bytes: Uint8Array, view: DataView, start: number, end: number, le: boolean): void {
    const addr = start + SYMBOL.addr;
    const lo = view.getUint32(addr + (le ? 0 : 4), le);
    const hi = view.getUint32(addr + (le ? 4 : 0), le);
    const size = view.getUint32(start + SYMBOL.len, le);
    const map = this.#spaces.find(this.root, hi, lo);
    if (view.getUint16(start + SYMBOL.flags, le) & KSYMBOL_UNREGISTER) {
      if (map >= 0 && map !== this.#kernelMap) this.#remove(map);
    } else if (map < 0) {
      const name = this.#names.internUntilNul(bytes, start + SYMBOL.name, end);
      const shown = isBpfImage(this.#names.text(name)) ? this.#names.internText("") : name;
      const sum = lo + size;
      const own = this.#add(shown, {
        startHi: hi,
        startLo: lo,
        endHi: (hi + (sum >= 2 ** 32 ? 1 : 0)) >>> 0,
        endLo: sum >>> 0,
        pgoffHi: 0,
        pgoffLo: 0,
      });
      this.#ksymbols.set(own, { name, size });
    }
  }

  /** Owner of the next change: a new one if the log keeps the tree, so that it is copied. */
  #nextOwner(): number {
    // Owners of processes' trees are positive.
    if (this.log?.isSystemNoted(this.space) === true) this.#owner--;
    return this.#owner;
  }

  #add(name: number, range: MapRange, buildId: number = -1): number {
    const source = this.#sources.ofKernel(name, buildId, this.#guest);
    const map = this.#spaces.addMap(range, source);
    this.root = this.#spaces.add(this.root, this.#nextOwner(), map);
    this.log?.system(this.space, this.root);
    return map;
  }

  #remove(map: number): void {
    this.root = this.#spaces.remove(this.root, this.#nextOwner(), map);
    this.log?.system(this.space, this.root);
    this.#ksymbols.delete(map);
  }
}

function baseName(path: string): string {
  const trimmed = path.replace(/(?<!\/)\/+$/, "");
  return trimmed.slice(trimmed.lastIndexOf("/") + 1);
}

function isBpfImage(name: string): boolean {
  return name.startsWith("bpf_trampoline_") || name.startsWith("bpf_dispatcher_");
}

/**
 * The short name of a binary: `[ext4]` for `/lib/modules/…/ext4.ko.xz`, else the last part of the
 * path. A name in brackets is a module unless it is one of the kernel's own.
 */
export function kernelModuleName(path: string): { name: string; module: boolean } {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name.startsWith("[")) {
    const own = /^\[(kernel\.kallsyms\]|guest\.kernel\.kallsyms|vdso(x?32)?\]|vsyscall\])/;
    return { name, module: !own.test(name) };
  }
  const plain = name.replace(/\.(gz|xz|zst)$/, "");
  const dot = plain.lastIndexOf(".");
  if (dot > 0 && plain.startsWith(".ko", dot)) {
    return { name: `[${plain.slice(0, dot)}]`.replaceAll("-", "_"), module: true };
  }
  return { name: name.includes(".") ? name.replaceAll("-", "_") : name, module: false };
}
