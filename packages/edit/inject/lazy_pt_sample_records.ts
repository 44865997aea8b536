import type { PtSampleRecords } from "./pt_sample_records.ts";

/** Makes a {@linkcode PtSampleRecords}, whose module, with the decoder, is loaded by that. */
export async function ptSampleRecords(
  ...args: ConstructorParameters<typeof PtSampleRecords>
): Promise<PtSampleRecords> {
  const module = await import("./pt_sample_records.ts");
  return new module.PtSampleRecords(...args);
}
