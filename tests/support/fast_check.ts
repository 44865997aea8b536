/**
 * fast-check with a seed; tests import it as `fast-check`.
 *
 * The suite tries the same values in each run, so that only a change of the code makes it fail.
 * `PERFDATA_SEED` selects other values: a number, or `random`. If a property fails, fast-check
 * prints the seed.
 */
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import fc from "npm:fast-check@4.3.0";
import { testSeed } from "./seed.ts";

fc.configureGlobal({ seed: testSeed() });

export default fc;
