// Uses Deno's API, or opens what does; everything else in this package runs in any JavaScript runtime.
/**
 * Branches that several threads count, on Deno.
 *
 * @module
 */
export { branchWorkers } from "../branches/branch_workers.ts";
