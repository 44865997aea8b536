import { PERF_EVENT_HEADER_SIZE } from "../records/record_types.ts";
import { sampleBody, sampleDeclaration, type SampleShape } from "./sample.ts";
import type { Codec } from "../struct/codec.ts";
import { slotsOf, Walk } from "../struct/walk.ts";

/** Slot numbers of all fields of samples, by path. */
const SLOTS: ReadonlyMap<string, number> = slotsOf(sampleDeclaration as Codec<unknown>);

/** The fields before the first field of variable length, for any event. */
const PREFIX = new Set<string>();
for (const [name, { shape }] of Object.entries(sampleDeclaration.parts ?? {})) {
  if (shape?.kind !== "when" || shape.of.size === undefined) break;
  PREFIX.add(name);
}

/**
 * Returns the size of the fields with a fixed offset, which `layoutOf` computes: those up to `period`.
 *
 * @param body The declaration of the event's samples.
 */
export function samplePrefixSize(body: Pick<Codec<unknown>, "parts">): number {
  let size = 0;
  for (const name of PREFIX) size += body.parts?.[name]?.size ?? 0;
  return size;
}

/** Locates the fields of an event's samples that have no fixed offset. `SampleFields` accesses the fields by name. */
export class SampleWalk extends Walk {
  /** Creates a locator for the samples of one event. */
  constructor(attr: SampleShape) {
    const body = sampleBody(attr) as Codec<unknown>;
    const fields = Object.entries(body.parts ?? {}).filter(([name]) => !PREFIX.has(name));
    super(fields, PERF_EVENT_HEADER_SIZE + samplePrefixSize(body), SLOTS);
  }

  /**
   * Returns the slot of a field: a name in the declaration of samples, or a path such as
   * `branch_stack.entries`.
   *
   * @throws {RangeError} If the declaration has no such field.
   */
  static slot(path: string): number {
    const slot = SLOTS.get(path);
    if (slot === undefined) throw new RangeError(`samples have no field ${path}`);
    return slot;
  }
}
