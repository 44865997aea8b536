// Worker that synthesizes samples of parts of a trace for `script` (see pt_script.ts).
import { guardHeap } from "@perfdata/format/files";
import { servePt } from "@perfdata/pt/decode";
import { openPtScript, type PtScriptAbout } from "./pt_script.ts";

guardHeap();
servePt<PtScriptAbout>(openPtScript);
