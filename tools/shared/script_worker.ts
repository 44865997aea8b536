// Worker that formats windows of a recording for `script`.
import { makeScript, type SentScript } from "@perfdata/export/script";
import { guardHeap, openSource } from "@perfdata/format/files";
import { serveText } from "@perfdata/session/workers";
import { type ScriptGiven, scriptHost } from "./script_host.ts";

guardHeap();
serveText<SentScript>({
  open: (path) => openSource(path),
  make: (reader, sent, write) =>
    makeScript(reader, sent, write, scriptHost(sent.given as ScriptGiven)),
});
