// Uses Deno's workers and files: writes the text of a dump's windows.
import { makeDump } from "@perfdata/dump";
import { openSource } from "@perfdata/format/files";
import { serveText } from "@perfdata/session/workers";

serveText({ open: (path) => openSource(path), make: makeDump });
