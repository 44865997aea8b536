// Decodes parts of a trace for `pt` (see pt.ts).
import { guardHeap } from "@perfdata/format/heap-guard";
import { servePt } from "@perfdata/pt/parallel";
import { openWhole, type PtAbout } from "./_pt_workers.ts";

guardHeap();
servePt<PtAbout>(openWhole);
