// Uses Deno's workers and files: writes the lines of windows (see records_parallel.ts).
import { openSource } from "@perfdata/format/files";
import { serveText } from "@perfdata/session/workers";
import { csvLineFor } from "./csv_line.ts";
import { makeRecords, type RecordsAbout } from "./records_text.ts";

serveText<RecordsAbout>({
  open: (path) => openSource(path),
  make: async (reader, about, write) =>
    makeRecords(reader, about, write, await csvLineFor(about.format)),
});
