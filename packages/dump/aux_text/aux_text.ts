/**
 * The lines of `perf report -D` for AUX data other than Intel PT: Arm SPE, Intel BTS, HiSilicon
 * PTT. Each line is a packet: its offset in the data, its bytes, and their meaning.
 *
 * @module
 */
import {
  PERF_AUXTRACE_ARM_SPE,
  PERF_AUXTRACE_HISI_PTT,
  PERF_AUXTRACE_INTEL_BTS,
} from "@perfdata/user-records";
import { ArmSpeText } from "./aux_arm_spe.ts";
import { HisiPttText } from "./aux_hisi_ptt.ts";
import { IntelBtsText } from "./aux_intel_bts.ts";
import type { AuxText } from "./aux_line.ts";

/**
 * The writer for AUX data of a type in AUXTRACE_INFO; `undefined` if the type is unknown.
 *
 * @param offset Offset of the data, from which Arm SPE lines count.
 */
export function auxTextOf(type: number, offset: number): AuxText | undefined {
  switch (type) {
    case PERF_AUXTRACE_ARM_SPE:
      return new ArmSpeText(offset);
    case PERF_AUXTRACE_INTEL_BTS:
      return new IntelBtsText();
    case PERF_AUXTRACE_HISI_PTT:
      return new HisiPttText();
    default:
      return undefined;
  }
}
