// Uses Deno's workers and files: writes the text of a dump's windows (see parallel.ts).
import { openSource } from "@perfdata/format/files";
import { serveText } from "@perfdata/session/workers";
import { type DumpAbout, DumpConsumer } from "./dump_consumer.ts";

serveText<DumpAbout>({
  open: (path) => openSource(path),
  make: (reader, about, write) => new DumpConsumer(reader, { ...about, write }, true),
});
