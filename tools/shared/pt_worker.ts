// Worker that decodes parts of a trace for `pt` (see pt.ts).
import { guardHeap } from "@perfdata/format/files";
import { callWhole, listWhole, ofCpus, PtNames, type PtWhole, servePt } from "@perfdata/pt/decode";
import { insnText } from "./insn_text.ts";
import { codeOf, imagesOf, namedImages, openPtAgain } from "./pt_input.ts";
import { type PtAbout, ptRows } from "./pt_workers.ts";
import { resolverOf } from "./symbol_flags.ts";

/** Opens in a worker the recording that the first thread has opened. */
async function openWhole(
  { name, flags, image, guestImage, filter, cpus, by }: PtAbout,
): Promise<PtWhole<unknown>> {
  const guest = namedImages("guest-image", guestImage);
  const trace = await openPtAgain(
    name,
    (recorded) => codeOf(recorded, flags.value, imagesOf(image, name), guest),
  );
  const isList = typeof by === "object" && "list" in by;
  const resolver = await resolverOf(flags, name, {
    machine: trace.engine.recorded,
    parameters: false,
    debugInformation: isList && by.list.source,
  });
  const names = new PtNames(trace.code, resolver);
  const whole = { trace, wants: ofCpus(cpus) };
  if (isList) {
    const text = by.list.insns === true ? await insnText() : undefined;
    return listWhole(whole, names, { ...by.list, text, filter });
  }
  return callWhole({ ...whole, filter, ...ptRows(names, by) });
}

guardHeap();
servePt<PtAbout>(openWhole);
