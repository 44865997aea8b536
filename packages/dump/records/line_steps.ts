import { putDecimal64, putHex } from "@perfdata/format/bytes";
import type { RecordBytes } from "@perfdata/session";
import { type FieldStep, putStep } from "../text/field_text.ts";

/**
 * Writes a value of the record in `[start, end)` and the text before it. Returns -1 if the record
 * has to be decoded. Fields without a fixed offset are located already.
 */
export type Put = (
  source: RecordBytes,
  start: number,
  end: number,
  out: DataView,
  pos: number,
) => number;

/** A fixed field with the text before it, or a writer. */
export interface Step extends FieldStep {
  readonly put: Put | undefined;
}

/** Writes the steps of the record in `[start, end)`. Returns -1 if the record has to be decoded. */
export function putSteps(
  steps: readonly Step[],
  source: RecordBytes,
  start: number,
  end: number,
  out: DataView,
  pos: number,
): number {
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i] as Step;
    const { before, format, offset, size, put } = step;
    if (put !== undefined) {
      pos = put(source, start, end, out, pos);
      if (pos < 0) return -1;
    } else if (size === 8) {
      // Inlined from putStep: most values are of this kind, and a call takes 20 % longer per line.
      const at = (offset < 0 ? end : start) + offset;
      const hi = source.view.getInt32(at + 4, true), lo = source.view.getInt32(at, true);
      pos = before.put(out, pos);
      pos = format === "x" ? putHex(out, pos, hi, lo) : putDecimal64(out, pos, hi, lo);
    } else {
      pos = putStep(out, pos, step, source, start, end, true);
    }
  }
  return pos;
}
