import { type Codec, KERNEL_RECORDS, recordMisc, specialized } from "@perfdata/format/records";
import { PERF_EVENT_HEADER_SIZE } from "@perfdata/format/constants";
import {
  type FieldPlace,
  type FieldStep,
  fieldStep,
  placesOf,
  putStep,
  type RecordSpan,
} from "./field_text.ts";
import { type KernelTextContext, type Part, TEXTS, type Write } from "./kernel_templates.ts";

/** A {@link FieldStep}, or a function with the offsets of its fields. */
type Step = FieldStep & { readonly write?: Write; readonly fields?: readonly number[] };

const DECLARATIONS: ReadonlyMap<number, Codec<unknown>> = new Map(
  KERNEL_RECORDS.map(({ type, body }) => [type, body as Codec<unknown>]),
);

/** Offsets of the fields of records with a type and `misc`, from the declaration. */
function bodyPlaces(type: number, misc: number): Map<string, FieldPlace> {
  const body = DECLARATIONS.get(type);
  const { parts = {} } = body === undefined ? {} : specialized(body, { misc }) ?? body;
  return placesOf(parts, PERF_EVENT_HEADER_SIZE);
}

const PLACES = new Map<number, Map<string, FieldPlace>>();

/**
 * Offset of a kernel record's field that does not depend on `misc`.
 *
 * @throws {RangeError} If the type has no such field.
 */
export function kernelField(type: number, name: string): FieldPlace {
  let places = PLACES.get(type);
  if (places === undefined) PLACES.set(type, places = bodyPlaces(type, 0));
  const place = places.get(name);
  if (place === undefined) throw new RangeError(`record type ${type} has no field ${name}`);
  return place;
}

/** Converts parts to steps. A literal is joined with the part after it. */
function stepsOf(type: number, misc: number): Step[] {
  const places = bodyPlaces(type, misc);
  const placeOf = (name: string): FieldPlace => {
    const place = places.get(name);
    if (place === undefined) throw new RangeError(`record type ${type} has no field ${name}`);
    return place;
  };
  const steps: Step[] = [];
  let literal = "";
  const add = (parts: readonly Part[]): void => {
    for (const part of parts) {
      if (typeof part === "string") {
        literal += part;
      } else if ("misc" in part) {
        add(misc & part.misc ? part.set : part.clear);
      } else {
        if ("field" in part) steps.push(fieldStep(literal, part.format, placeOf(part.field)));
        else {
          const fields = part.fields.map((name) => placeOf(name).offset);
          steps.push({ ...fieldStep(literal), write: part.write, fields });
        }
        literal = "";
      }
    }
  };
  add(TEXTS[type] ?? []);
  steps.push(fieldStep(`${literal}\n`));
  return steps;
}

/** The bits of `misc` on which a text or declaration depends. */
const MISC_BITS = 0xf000;
const STEPS = new Map<number, readonly Step[]>();

/**
 * Writes the text of `perf report -D` for a kernel record other than a SAMPLE, after its name: its
 * fields and a newline.
 *
 * @param le Byte order of the record.
 */
export function putKernelText(
  out: DataView,
  p: number,
  { source, start, end }: RecordSpan,
  le: boolean,
  context: KernelTextContext,
): number {
  const { view } = source;
  const type = view.getInt32(start, le);
  const misc = recordMisc(view, start, le);
  const key = type << 16 | misc & MISC_BITS;
  let steps = STEPS.get(key);
  if (steps === undefined) STEPS.set(key, steps = stepsOf(type, misc & MISC_BITS));
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i] as Step;
    p = putStep(out, p, step, source, start, end, le);
    const { write } = step;
    if (write !== undefined) {
      const { bytes, view, words } = source;
      const record = { bytes, view, words, start, end, le, context };
      p = write(out, p, record, ...(step.fields ?? []).map((offset) => start + offset));
    }
  }
  return p;
}
