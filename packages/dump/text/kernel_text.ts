import { KERNEL_RECORDS, RecordCodec } from "@perfdata/format";
import { perfEventHeader, recordMisc } from "@perfdata/format/record-header";
import { encode } from "@perfdata/format/struct";
import {
  BodyFields,
  type FieldPlace,
  type FieldStep,
  fieldStep,
  putStep,
  type SourceBytes,
} from "./field_text.ts";
import { type KernelTextContext, type Part, TEXTS, type Write } from "./kernel_templates.ts";

/** A {@link FieldStep}, or a function with the places of its fields. */
type Step = FieldStep & { readonly write?: Write; readonly fields?: readonly number[] };

/** A record long enough for the fixed fields of any type. */
const LONG = 256;
const codec = new RecordCodec(KERNEL_RECORDS);

/** Where the fields of the records of a type and `misc` lie, by the declaration. */
function placesOf(type: number, misc: number): Map<string, FieldPlace> {
  const bytes = new Uint8Array(LONG);
  bytes.set(encode(perfEventHeader, { type, misc, size: LONG }));
  const trace = new BodyFields();
  codec.decode(bytes, { littleEndian: true, event: undefined, trace });
  return new Map(trace.fields.map((field) => [field.name, field]));
}

const PLACES = new Map<number, Map<string, FieldPlace>>();

/**
 * Where a field of a kernel record lies that is at the same place whatever its `misc`.
 *
 * @throws {RangeError} Where the type has no such field.
 */
export function kernelField(type: number, name: string): FieldPlace {
  let places = PLACES.get(type);
  if (places === undefined) PLACES.set(type, places = placesOf(type, 0));
  const place = places.get(name);
  if (place === undefined) throw new RangeError(`record type ${type} has no field ${name}`);
  return place;
}

/** Literals and fields as steps; a literal is put before what follows it. */
function stepsOf(type: number, misc: number): Step[] {
  const places = placesOf(type, misc);
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

/** The bits of `misc` that any text or declaration depends on. */
const MISC_BITS = 0xf000;
const STEPS = new Map<number, readonly Step[]>();

/**
 * Writes what `perf report -D` prints of a kernel record after its name: its fields, and a newline.
 * SAMPLE is not among them.
 *
 * @param le Byte order of the record.
 */
export function putKernelText(
  out: DataView,
  p: number,
  source: SourceBytes,
  start: number,
  end: number,
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
