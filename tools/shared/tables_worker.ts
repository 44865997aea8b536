/** Worker that writes the tables of recordings: see `writeAllTables`. */
import { servePool } from "@perfdata/session";
import { InputError } from "./cli.ts";
import {
  type TablesAnswer,
  type TablesJob,
  type TablesProgress,
  writeTables,
} from "./written_tables.ts";

servePool((_: undefined, note: (note: TablesProgress) => void) => ({
  async take(job: TablesJob): Promise<TablesAnswer> {
    try {
      return await writeTables(job, (bytes, more) => note([bytes, more]));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return { message: error.message };
    }
  },
}));
