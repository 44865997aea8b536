import type { EventContext } from "./cursor.ts";
import { registerName } from "../sample/registers.ts";
import { type AttrMask, decider, NO_SCOPE, type Test } from "./condition.ts";
import type { Codec } from "./codec.ts";
import { either, gathered, when } from "./conditionals.ts";
import { x64 } from "./numbers.ts";
import { array } from "./sequences.ts";
import { struct } from "./structure.ts";

/** Parameters for specializing a declaration: the record's event and its header's `misc`, if known. */
export type EventShape = Partial<Pick<EventContext, "attr" | "arch">> & {
  readonly misc?: number | undefined;
};

/**
 * Declares a value that depends on the attr of the record's event. Its conditions on `attr` are evaluated once
 * per event instead of once per record.
 *
 * @param what Names the record in the error for an unknown event.
 */
export function ofEvent<T>(what: string, codec: Codec<T>): Codec<T> {
  return {
    ...codec,
    shape: { kind: "ofEvent", of: codec as Codec<unknown> },
    decode(r, scope) {
      const { event } = r.context;
      if (event === undefined) throw r.error(`${what}: its event is not known`);
      return event.specialize(codec).decode(r, scope);
    },
    encode(w, value, scope) {
      const { event } = w.context;
      if (event === undefined) throw new RangeError(`${what}: its event is not known`);
      event.specialize(codec).encode(w, value, scope);
    },
  };
}

/**
 * Declares registers: one u64 in the file's byte order for each bit of a mask of the event's attr, in bit
 * order (`perf_output_sample_regs` of kernel/events/core.c). In the value, they are named by the recorded
 * architecture, or `reg0`, `reg1`, … if it is unknown.
 *
 * @param type Name of the structure in the reference documentation.
 * @param mask The mask of the attr. Without an event, no registers are expected.
 */
export function registers(type: string, mask: AttrMask): Codec<Record<string, bigint>> {
  const codecFor = (event: EventContext | undefined) => registersOf(type, event, mask);
  return {
    type,
    display: { as: "struct" },
    shape: { kind: "registers", mask },
    decode: (r, scope) => codecFor(r.context.event).decode(r, scope),
    encode: (w, value, scope) => codecFor(w.context.event).encode(w, value, scope),
  };
}

function registersOf(
  type: string,
  event: EventShape | undefined,
  mask: AttrMask,
): Codec<Record<string, bigint>> {
  const regs: Record<string, Codec<bigint>> = {};
  for (let bit = 0; bit < 64; bit++) {
    if (((event?.attr?.[mask] ?? 0n) >> BigInt(bit)) & 1n) {
      regs[registerName(event?.arch, bit)] = x64;
    }
  }
  return struct(type, regs) as Codec<unknown> as Codec<Record<string, bigint>>;
}

/**
 * Specializes a declaration for an event or a `misc`: evaluates the conditions on them and removes the fields
 * that are absent.
 *
 * @param codec The declaration.
 * @param event The masks of the attr, the machine for the names of registers, and `misc`.
 * @returns The declaration, or `undefined` if no field is left.
 */
export function specialized<T>(codec: Codec<T>, event: EventShape): Codec<T> | undefined {
  const found = specialize(codec as Codec<unknown>, event);
  if (found === undefined || found === codec) return found as Codec<T> | undefined;
  // The documentation of the whole declaration applies to the reduced one, too.
  const { doc } = codec;
  return { ...found, ...(doc === undefined ? {} : { doc }) } as Codec<T>;
}

function specialize(codec: Codec<unknown>, event: EventShape): Codec<unknown> | undefined {
  const { shape } = codec;
  switch (shape?.kind) {
    case "struct": {
      const fields: Record<string, Codec<unknown>> = {};
      let same = true;
      for (const [name, part] of Object.entries(codec.parts ?? {})) {
        const special = specialized(part, event);
        if (special !== part) same = false;
        if (special !== undefined) fields[name] = special;
      }
      return same ? codec : struct(codec.type, fields) as Codec<unknown>;
    }
    case "array": {
      const element = specialized(shape.element, event);
      if (element === undefined || element === shape.element) return element && codec;
      return array(element, shape.count) as Codec<unknown>;
    }
    case "when": {
      const { test, of } = shape;
      const holds = decided(test, event);
      if (holds !== undefined) return holds ? specialized(of, event) : undefined;
      const special = specialized(of, event);
      return special === of ? codec : special && when(test, special);
    }
    case "either": {
      const { test, yes, no } = shape;
      const holds = decided(test, event);
      if (holds !== undefined) return specialized(holds ? yes : no, event);
      const [one, other] = [specialized(yes, event), specialized(no, event)];
      if (one === undefined || other === undefined) return one ?? other;
      return one === yes && other === no ? codec : either(codec.type, test, one, other);
    }
    case "gathered": {
      const inner = specialized(shape.of, event);
      if (inner === undefined || inner === shape.of) return inner && codec;
      return gathered(inner, shape.into, shape.names);
    }
    case "registers":
      if (event.attr === undefined) return codec;
      return registersOf(codec.type, event, shape.mask) as Codec<unknown>;
    case "ofEvent":
      return event.attr === undefined ? codec : specialized(shape.of, event);
    default:
      return codec;
  }
}

/** Evaluates a condition, if its operands are known. */
function decided(test: Test, { attr, arch, misc }: EventShape): boolean | undefined {
  const event = attr && { attr, arch, specialize: <T>(codec: Codec<T>) => codec };
  if ("attr" in test) return event && decider(test)(NO_SCOPE, { event }, undefined);
  if (misc === undefined || !("misc" in test || "noMisc" in test)) return undefined;
  return decider(test)(NO_SCOPE, { misc }, undefined);
}
