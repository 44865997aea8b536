// Uses Deno's API, directly or by imports; the rest of this package runs in any JavaScript runtime.
/**
 * AUX data copied from a file into files, on Deno.
 *
 * @module
 */
export {
  type AuxFileCopy,
  copyAuxToFiles,
  type CopyToFilesOptions,
} from "../auxtrace/aux_file_copy.ts";
