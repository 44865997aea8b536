/**
 * The flags that all commands that show symbols have in common.
 */
import { openResolver, type OpenResolverOptions } from "@perfdata/symbols/open_resolver";
import type { SymbolResolver } from "@perfdata/symbols";
import { BundleError } from "@perfdata/symbols";
import { about, type Flags, InputError } from "./_cli.ts";

/** To be spread into the flags of a command. */
export const SYMBOL_FLAGS = {
  boolean: ["no-demangle"],
  string: ["symbols", "symfs", "vmlinux", "kallsyms"],
} as const;

/** What they mean: for the help text of a command. */
export const SYMBOL_HELP = `\
      --symbols FILE     a symbol bundle, asked first: see "symbols bundle"
      --symfs DIR        the files of the recorded machine lie in this folder
      --vmlinux FILE     the kernel's ELF file
      --kallsyms FILE    a copy of /proc/kallsyms
      --no-demangle      names of C++ and Rust functions as the files have them
`;

type SymbolFlags = Flags<typeof SYMBOL_FLAGS.boolean[number], typeof SYMBOL_FLAGS.string[number]>;

/** What the user gave of them. */
export function symbolOptions({ on, value }: SymbolFlags): OpenResolverOptions {
  const { symbols, symfs, vmlinux, kallsyms } = value;
  return {
    demangle: !on["no-demangle"],
    ...(symbols === undefined ? {} : { symbols }),
    ...(symfs === undefined ? {} : { symfs }),
    ...(vmlinux === undefined ? {} : { vmlinux }),
    ...(kallsyms === undefined ? {} : { kallsyms }),
  };
}

/**
 * Opens what they name.
 *
 * @param release Release of the recorded kernel, where it is known.
 * @throws {InputError} Where a file that was named is not there, or is not what it should be.
 */
export function resolverOf(flags: SymbolFlags, release?: string): SymbolResolver {
  const options = symbolOptions(flags);
  for (const path of [options.symfs, options.vmlinux, options.kallsyms]) {
    if (path !== undefined) about(path, () => Deno.statSync(path));
  }
  const open = () => openResolver({ ...options, ...(release === undefined ? {} : { release }) });
  try {
    return options.symbols === undefined ? open() : about(options.symbols, open);
  } catch (error) {
    if (error instanceof BundleError) throw new InputError(error.message, { cause: error });
    throw error;
  }
}
