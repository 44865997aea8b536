// Worker that formats windows of a recording for `script` (see script.ts).
import { guardHeap, openSource } from "@perfdata/format/files";
import { serveText } from "@perfdata/session/workers";
import { makeScript, type ScriptAbout } from "./script_by_windows.ts";

guardHeap();
serveText<ScriptAbout>({ open: (path) => openSource(path), make: makeScript });
