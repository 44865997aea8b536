// Uses Deno's API, or opens what does; everything else in this package runs in any JavaScript runtime.
/**
 * Symbols from the files of this machine, on Deno.
 *
 * @module
 */
export { type BinaryFile, openBinaryFile } from "../files/binary_file.ts";
export { defaultPlaces, localFiles } from "../files/local_files.ts";
export { localResolver, type LocalResolverOptions } from "../resolver/local_resolver.ts";
export { openDwarf, type OpenDwarfOptions, type OpenedDwarf } from "../resolver/open_dwarf.ts";
export {
  BundleError,
  openBundle,
  openResolver,
  type OpenResolverOptions,
} from "../resolver/open_resolver.ts";
