// Uses Deno's file API; everything else in this package runs in any JavaScript runtime.
/**
 * Symbols from the files of this machine, on Deno.
 *
 * @module
 */
import {
  addressFromHalves,
  buildIdOfNotes,
  buildIdsEqual,
  Demangler,
  FileAddresses,
  findKallsym,
  type KernelReference,
  mapKind,
  readElfSymbols,
  readKallsyms,
  readPerfMap,
  type SearchPlaces,
  STT,
  type SymbolBundle,
  type SymbolObject,
  SymbolsError,
  type SymbolTable,
} from "@perfdata/symbols";
import { openDwarf, type OpenedDwarf } from "@perfdata/symbols/open_dwarf";
import { findSymbolFiles } from "@perfdata/symbols/find_file";
import type { MappedBinary } from "./aggregate.ts";
import type { BinarySymbols, FoundSymbol, SourcePlace, SymbolSource } from "./functions.ts";

/** Where symbols are looked for, and how they are shown. */
export interface SymbolFilesOptions {
  /** Where to look for files. */
  readonly places?: SearchPlaces;
  /** Build ids by path, from the recording's table. */
  readonly buildIds?: ReadonlyMap<string, string>;
  /** A copy of `/proc/kallsyms`; by default this machine's, where the recording is of its kernel. */
  readonly kallsyms?: string | undefined;
  /** Release of the kernel that was recorded (`uname -r`), where it is known. */
  readonly osrelease?: string | undefined;
  /** Whether names are made readable; true by default. */
  readonly demangle?: boolean;
  /** Asked before any file. */
  readonly bundle?: SymbolBundle;
  /** Where the recorded kernel was: without it, a bundle's symbols of the kernel are not used. */
  readonly kernelReference?: KernelReference | undefined;
  /** Told about files that are not used, and why. */
  readonly refused?: (path: string, reason: string) => void;
}

/** Finds symbols in the files of this machine. */
export class SymbolFiles implements SymbolSource {
  readonly #options: SymbolFilesOptions;
  readonly #demangler = new Demangler({ params: false });
  readonly #known = new Map<string, BinarySymbols | undefined>();
  readonly #dwarfs = new Map<string, OpenedDwarf>();

  /** Opens nothing yet. */
  constructor(options: SymbolFilesOptions = {}) {
    this.#options = options;
  }

  /** The symbols of a binary, or `undefined` where there are none. */
  symbols(binary: MappedBinary): BinarySymbols | undefined {
    const buildId = binary.buildId ?? this.#options.buildIds?.get(binary.name);
    const key = `${binary.name}\0${buildId}\0${binary.kernel}`;
    if (this.#known.has(key)) return this.#known.get(key);
    const found = this.#bundled(binary, buildId) ?? this.#fromFiles(binary, buildId);
    this.#known.set(key, found);
    return found;
  }

  #fromFiles(binary: MappedBinary, buildId: string | undefined): BinarySymbols | undefined {
    try {
      return this.#read(binary, buildId);
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
      this.#options.refused?.(binary.name, error.message);
      return undefined;
    }
  }

  /** What the bundle knows of a binary; files are only opened for what it does not. */
  #bundled(binary: MappedBinary, buildId: string | undefined): BinarySymbols | undefined {
    const { bundle, kernelReference, demangle, refused } = this.#options;
    if (bundle === undefined) return undefined;
    const kind = mapKind(binary.name);
    const jit = /^\/tmp\/perf-\d+\.map$/.test(binary.name);
    const isKernel = binary.kernel && (kind === "kernel" || kind === "file");
    if (binary.kernel && !isKernel || isKernel && kernelReference === undefined) return undefined;
    const wanted: SymbolObject = {
      path: binary.name,
      kind: isKernel ? "kernel" : jit ? "jit" : kind === "vdso" ? "vdso" : "elf",
      ...(buildId === undefined ? {} : { buildId }),
      ...(isKernel && kernelReference !== undefined ? { reference: kernelReference.name } : {}),
    };
    const object = bundle.object(wanted);
    for (const { info } of bundle.otherBuilds(wanted)) refused?.(info.path, "build id differs");
    if (object === undefined) return undefined;
    const base = isKernel ? kernelReference?.address ?? 0 : 0;
    let files: BinarySymbols | undefined;
    let opened = false;
    const fromFiles = (): BinarySymbols | undefined => {
      if (!opened) files = this.#fromFiles(binary, buildId);
      opened = true;
      return files;
    };
    const known = new Map<string, FoundSymbol>();
    return {
      find: (address) => {
        const symbol = object.find(address - base)?.symbol;
        if (symbol === undefined) return fromFiles()?.find(address);
        const key = `${symbol.start} ${symbol.end} ${symbol.name}`;
        let found = known.get(key);
        if (found === undefined) {
          found = {
            name: demangle === false ? symbol.name : this.#demangler.demangle(symbol.name),
            start: symbol.start + base,
            end: symbol.end + base,
            object: false,
          };
          known.set(key, found);
        }
        return found;
      },
      source: (address) => {
        const entry = object.find(address - base);
        if (entry === undefined) return fromFiles()?.source?.(address);
        const file = entry.frames[0]?.file;
        return file === undefined ? undefined : {
          file,
          line: entry.frames[0]?.line ?? 0,
          functionFile: entry.frames.at(-1)?.file ?? file,
        };
      },
    };
  }

  #read(binary: MappedBinary, buildId: string | undefined): BinarySymbols | undefined {
    const { name } = binary;
    const kind = mapKind(name);
    if (binary.kernel) {
      if (name.startsWith("bpf_prog_")) return { find: () => whole(name) };
      return kind === "kernel" || !name.includes(".ko") && kind === "file"
        ? this.#kernel(name, buildId)
        : undefined;
    }
    if (/^\/tmp\/perf-\d+\.map$/.test(name)) {
      const bytes = readIfThere(name);
      if (bytes === undefined) return undefined;
      return this.#table(readPerfMap(bytes).table, (address) => address, (address) => address);
    }
    if (kind !== "file" && kind !== "vdso" && kind !== "module") return undefined;
    const { places } = this.#options;
    using files = findSymbolFiles(
      { path: name, ...(buildId === undefined ? {} : { buildId }) },
      places ?? {},
    );
    for (const { path, reason } of files.refused) this.#options.refused?.(path, reason);
    const elf = files.symbols?.elf ?? files.runtime?.elf;
    if (elf === undefined) return undefined;
    const runtime = files.runtime?.elf ?? elf;
    const { table } = readElfSymbols(elf, {
      runtime,
      ...(this.#options.demangle === false
        ? {}
        : { demangle: (symbol: string) => this.#demangler.demangle(symbol) }),
    });
    const addresses = new FileAddresses(runtime);
    const path = files.runtime?.path ?? files.symbols?.path;
    return {
      ...this.#table(
        table,
        (offset) => addresses.fromOffset(offset),
        (address) => addresses.toOffset(address),
      ),
      source: (offset) => {
        const address = addresses.fromOffset(offset);
        return address === undefined || path === undefined
          ? undefined
          : this.#source(path, address);
      },
    };
  }

  #source(path: string, address: number): SourcePlace | undefined {
    let dwarf = this.#dwarfs.get(path);
    if (dwarf === undefined) {
      dwarf = openDwarf(path, {
        ...(this.#options.places === undefined ? {} : { places: this.#options.places }),
        diagnostics: (error) => this.#options.refused?.(path, error.message),
      });
      this.#dwarfs.set(path, dwarf);
    }
    const frames = dwarf.dwarf.find(address);
    const file = frames[0]?.file;
    return file === undefined
      ? undefined
      : { file, line: frames[0]?.line ?? 0, functionFile: frames.at(-1)?.file ?? file };
  }

  /** Closes the files that were opened for source lines. */
  close(): void {
    for (const dwarf of this.#dwarfs.values()) dwarf.close();
    this.#dwarfs.clear();
  }

  /** The kernel's symbols, at the addresses that it had when it was recorded. */
  #kernel(name: string, buildId: string | undefined): BinarySymbols | undefined {
    const { kallsyms, refused, osrelease } = this.#options;
    const path = kallsyms ?? "/proc/kallsyms";
    if (kallsyms === undefined) {
      const running = readIfThere("/sys/kernel/notes");
      const own = running === undefined ? undefined : buildIdOfNotes(running, true, 4);
      if (buildId !== undefined && (own === undefined || !buildIdsEqual(own, buildId))) {
        refused?.(path, `build id of ${name} differs`);
        return undefined;
      }
      if (buildId === undefined && osrelease !== Deno.osRelease()) {
        refused?.(path, "the recording is of another kernel");
        return undefined;
      }
    }
    const bytes = readIfThere(path);
    if (bytes === undefined) return undefined;
    if (findKallsym(bytes, "_text") === undefined && findKallsym(bytes, "_stext") === undefined) {
      refused?.(path, "not a list of the kernel's symbols");
      return undefined;
    }
    const { table, restricted } = readKallsyms(bytes);
    if (restricted) {
      refused?.(path, "addresses are hidden (kernel.kptr_restrict)");
      return undefined;
    }
    return this.#table(table, (address) => address, (address) => address);
  }

  #table(
    table: SymbolTable,
    toAddress: (offset: number) => number | undefined,
    toOffset: (address: number) => number | undefined,
  ): BinarySymbols {
    const found: (FoundSymbol | undefined)[] = [];
    return {
      find: (offset) => {
        const address = toAddress(offset);
        if (address === undefined) return undefined;
        const index = table.lookup(address);
        if (index < 0) return undefined;
        const start = table.start(index);
        return found[index] ??= {
          name: this.#options.demangle === false
            ? table.name(index)
            : this.#demangler.demangle(table.name(index)),
          start: toOffset(start) ?? start,
          end: table.end(index) - start + (toOffset(start) ?? start),
          object: table.type(index) === STT.OBJECT,
        };
      },
    };
  }
}

function whole(name: string): FoundSymbol {
  return { name, start: 0, end: addressFromHalves(0x7fff_ffff, 0), object: false };
}

function readIfThere(path: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Deno.readFileSync(path);
  } catch (error) {
    // Deno keeps /proc and /sys from programs that may read all other files.
    if (error instanceof Deno.errors.NotCapable) return readWithCat(path);
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
      return undefined;
    }
    throw error;
  }
}

function readWithCat(path: string): Uint8Array<ArrayBuffer> | undefined {
  if (Deno.permissions.querySync({ name: "run", command: "cat" }).state !== "granted") {
    return undefined;
  }
  const { success, stdout } = new Deno.Command("cat", { args: [path], stderr: "null" })
    .outputSync();
  return success ? stdout : undefined;
}
