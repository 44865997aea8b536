// Uses Deno's workers and files: writes the lines of windows.
import { makeRecords } from "@perfdata/dump";
import { openSource } from "@perfdata/format/files";
import { serveText } from "@perfdata/session/workers";

serveText({ open: (path) => openSource(path), make: makeRecords });
