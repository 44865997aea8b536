/**
 * fast-check with a seed: what a test imports as `fast-check`.
 *
 * The suite tries the same values in each run, so that it fails on what was changed and on nothing else.
 * `PERFDATA_SEED` takes other ones: a number, or `random`; what a property fails on, fast-check prints
 * with its seed.
 */
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import fc from "npm:fast-check@4.3.0";
import { testSeed } from "./seed.ts";

fc.configureGlobal({ seed: testSeed() });

export default fc;
