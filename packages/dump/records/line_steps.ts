import { putDecimal64, putHex } from "@perfdata/format/text-bytes";
import type { RecordBytes } from "@perfdata/session/run";
import { type FieldStep, putStep } from "../text/field_text.ts";

/**
 * Writes a value of the record in `[start, end)` and the text before it; returns -1 if the record has
 * to be decoded. Fields without a fixed offset were located before.
 */
export type Put = (
  source: RecordBytes,
  start: number,
  end: number,
  out: DataView,
  pos: number,
) => number;

/** A field at a fixed place and what leads to it, or what writes any value. */
export interface Step extends FieldStep {
  readonly put: Put | undefined;
}

/** Writes the values of the record in `[start, end)`; returns -1 where it has to be decoded. */
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
      // Not by way of putStep: most values are of this kind, and lines would take 1.2 times as long.
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
