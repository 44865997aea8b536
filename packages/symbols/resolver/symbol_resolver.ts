import { BuildIdFolder } from "../files/build_id_folder.ts";
import { Demangler } from "../demangle/demangler.ts";
import { SymbolsError } from "../errors.ts";
import type { CodeSearch } from "../code/object_code.ts";
import { OpenedFiles } from "../files/opened_files.ts";
import type { SymbolObject } from "./resolution.ts";
import { elfLookup } from "./elf_lookup.ts";
import { bpfLookup, jitLookup, stateLookup } from "./jit_lookup.ts";
import { JitFiles } from "../jit/jit_files.ts";
import { KallsymsTexts } from "./kallsyms_text.ts";
import { kernelLookup, moduleLookup } from "./kernel_lookup.ts";
import { contextFor, isPathKnown } from "./guest_context.ts";
import { type Lookup, noSymbols, nothingFound, type ResolverContext } from "./lookup.ts";
import { BundledSymbols, FileSymbols, type ObjectSymbols } from "./object_symbols.ts";
import type { ResolverOptions } from "./options.ts";
import type { SymbolFiles } from "../files/symbol_files.ts";

/**
 * Finds the symbols of objects: in a bundle, in ELF files with DWARF, in kallsyms, perf maps and
 * jitdump files, in perf's order. Files of another build are refused and reported.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/symbols/resolver";
 * import { SymbolResolver } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const map = new TextEncoder().encode("7f0000001000 40 LazyCompile:*f a.js:1\n");
 * const resolver = new SymbolResolver({
 *   open: () => undefined,
 *   read: (path) => path === "/tmp/perf-7.map" ? map : undefined,
 * });
 * const symbols = await resolver.open({ path: "/tmp/perf-7.map", kind: "jit" });
 * const [found] = await symbols.find(Float64Array.of(0x7f0000001010));
 * assertEquals(found?.frames[0]?.name, "LazyCompile:*f a.js:1");
 * ```
 */
export class SymbolResolver {
  readonly #files: SymbolFiles;
  readonly #context: ResolverContext;

  /** Creates a resolver with access to these files. */
  constructor(files: SymbolFiles, options: ResolverOptions = {}) {
    this.#files = files;
    const { symfs } = options;
    this.#context = {
      options,
      places: {
        ...options.places,
        ...(symfs === undefined ? {} : { symfs, byBuildId: new BuildIdFolder(files, symfs) }),
      },
      ...names(options),
      kallsyms: new KallsymsTexts(),
      jit: new JitFiles(files, symfs),
    };
  }

  /** Demangles a name for display. */
  get show(): (name: string) => string {
    return this.#context.show;
  }

  /**
   * Opens the symbols of an object. Without symbols, each look-up has a cause.
   *
   * Unreadable files are not thrown; they are listed in `refused`.
   */
  async open(object: SymbolObject): Promise<ObjectSymbols> {
    const { bundle, elf = {}, turn } = this.#context.options;
    await turn?.();
    const opened = new OpenedFiles(this.#files, elf);
    for (const { info } of bundle?.otherBuilds(object) ?? []) {
      opened.refused.push({
        path: info.path,
        origin: "bundle",
        ...(info.buildId === undefined
          ? { reason: "no build id" }
          : { reason: "build id differs", buildId: info.buildId }),
      });
    }
    const bundled = bundle?.object(object);
    return bundled === undefined
      ? new FileSymbols(object, await this.#lookup(object, opened), opened, turn)
      : new BundledSymbols(
        object,
        bundled,
        contextFor(object, this.#context),
        opened,
        () => this.#lookup(object, opened),
      );
  }

  /**
   * Search places of code for unwinding, equal to those of symbols.
   *
   * @ignore for `openObjectCode`
   */
  get codeSearch(): CodeSearch {
    const { options: { machine, bundle, elf }, jit, places } = this.#context;
    return { files: this.#files, jit, places, arch: machine?.arch, bundle, elf };
  }

  /** Opens the lookup of an object. An unreadable file does not affect other objects. */
  async #lookup(object: SymbolObject, opened: OpenedFiles): Promise<Lookup> {
    const context = contextFor(object, this.#context);
    const { options: { machine }, show } = context;
    try {
      const found = guarded(await this.#found(object, context, opened), opened);
      const recorded = await machine?.symbolsOf?.(object);
      if (recorded === undefined) return found;
      const { withRecorded } = await import("./recorded_lookup.ts");
      return withRecorded(found, recorded, show);
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
      opened.fault(error);
      return noSymbols("not readable");
    }
  }

  async #found(
    object: SymbolObject,
    context: ResolverContext,
    opened: OpenedFiles,
  ): Promise<Lookup> {
    switch (object.kind) {
      case "elf":
      case "vdso":
        return isPathKnown(object, context)
          ? await elfLookup(object, context, opened)
          : nothingFound(opened);
      case "kernel":
        return await kernelLookup(object, context, opened);
      case "module":
        return await moduleLookup(object, context, opened);
      case "jit":
        return jitLookup(object, context, opened);
      case "bpf":
        return bpfLookup(object, context);
      case "state":
        return stateLookup(object);
    }
  }
}

/** A lookup whose errors become results with the cause "not readable". */
function guarded(lookup: Lookup, opened: OpenedFiles): Lookup {
  return {
    ...lookup,
    find(addresses, times) {
      try {
        return lookup.find(addresses, times);
      } catch (error) {
        if (!(error instanceof SymbolsError)) throw error;
        opened.fault(error);
        return noSymbols("not readable").find(addresses, times);
      }
    },
  };
}

/** The functions that demangle names for display and as `perf` does. */
function names(
  { demangle, parameters }: ResolverOptions,
): Pick<ResolverContext, "show" | "shownByPerf"> {
  if (demangle === false) return { show: (name) => name, shownByPerf: undefined };
  const brief = new Demangler({ params: false });
  const shownByPerf = (name: string): string => brief.demangle(name);
  if (parameters === false) return { show: shownByPerf, shownByPerf };
  const demangler = new Demangler();
  return { show: (name) => demangler.demangle(name), shownByPerf };
}
