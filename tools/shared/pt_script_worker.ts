// Makes the samples of parts of a trace for `script` (see pt_script.ts).
import { guardHeap } from "@perfdata/format/heap-guard";
import { servePt } from "@perfdata/pt/parallel";
import { openPtScript, type PtScriptAbout } from "./pt_script.ts";

guardHeap();
servePt<PtScriptAbout>(openPtScript);
