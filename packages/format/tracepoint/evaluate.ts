import type { Expression } from "./expression.ts";
import { TracepointSyntaxError } from "./tokens.ts";
import { atomValue, binaryValue, castBits, castTo, unaryValue } from "./values.ts";
import type { TracepointField, TracepointFormat } from "./format_file.ts";
import type { TraceData } from "./trace_data.ts";

/** The value of an expression: 64 bits, unsigned. */
export type NumberOf = (data: TraceData) => bigint;

/** Where the bytes of an expression are, from the start of the raw data. */
export interface Span {
  /** The first byte. */
  readonly offset: number;
  /** How many there are. */
  readonly size: number;
}

const EMPTY: Span = { offset: 0, size: 0 };

/** The fields of formats by their names; of several with one name, the first. */
const FIELDS = new WeakMap<TracepointFormat, Map<string, TracepointField>>();

/** Finds a field by its name. */
export function fieldOf(format: TracepointFormat, name: string): TracepointField | undefined {
  let byName = FIELDS.get(format);
  if (byName === undefined) {
    byName = new Map();
    for (const field of [...format.common, ...format.fields]) {
      if (!byName.has(field.name)) byName.set(field.name, field);
    }
    FIELDS.set(format, byName);
  }
  return byName.get(name);
}

/** Where a field's data is: its own bytes, or what it refers to. */
export function spanOf(field: TracepointField): (data: TraceData) => Span {
  const { offset, size, dynamic } = field;
  if (dynamic === "no") return () => ({ offset, size });
  const base = dynamic === "relative" ? offset + size : 0;
  return (data) => {
    const word = data.small(offset, 4);
    return { offset: base + (word & 0xffff), size: word >>> 16 };
  };
}

/** Where the bytes are that an expression names: a field, or dynamic data; else nothing. */
export function bytesOf(
  expression: Expression,
  format: TracepointFormat,
): (data: TraceData) => Span {
  const name = expression.kind === "field"
    ? expression.name
    : expression.kind === "dynamic"
    ? expression.field
    : expression.kind === "cast"
    ? undefined
    : "";
  if (expression.kind === "cast") return bytesOf(expression.of, format);
  const field = fieldOf(format, name ?? "");
  if (field === undefined) return () => EMPTY;
  if (expression.kind === "field") {
    const own = { offset: field.offset, size: field.size };
    return () => own;
  }
  return spanOf(field);
}

/**
 * Prepares the value of an expression, by the rules of libtraceevent (`eval_num_arg`): 64 unsigned
 * bits all the way, names are 0, and so is what is no number.
 */
export function numberOf(expression: Expression, format: TracepointFormat): NumberOf {
  switch (expression.kind) {
    case "atom": {
      const value = atomValue(expression.text);
      return () => value;
    }
    case "field": {
      const field = fieldOf(format, expression.name);
      if (field === undefined) return () => 0n;
      const { offset, size } = field;
      return (data) => data.number(offset, size);
    }
    case "cast": {
      const bits = castBits(expression.type);
      const of = numberOf(expression.of, format);
      return bits === undefined ? of : (data) => BigInt.asUintN(bits, of(data));
    }
    case "sizeof": {
      const size = sizeOf(expression.type, format);
      return (data) => BigInt(size < 0 ? data.longSize : size);
    }
    case "unary": {
      const { operator } = expression;
      const of = numberOf(expression.of, format);
      return (data) => BigInt.asUintN(64, unaryValue(operator, of(data)));
    }
    case "binary": {
      const { operator } = expression;
      const left = numberOf(expression.left, format);
      const right = numberOf(expression.right, format);
      return (data) => BigInt.asUintN(64, binaryValue(operator, left(data), right(data)));
    }
    case "conditional": {
      const condition = numberOf(expression.condition, format);
      const yes = numberOf(expression.yes, format);
      const no = numberOf(expression.no, format);
      return (data) => condition(data) !== 0n ? yes(data) : no(data);
    }
    case "index":
      return elementOf(expression.of, numberOf(expression.index, format), format);
    case "dynamic": {
      const { what } = expression;
      const field = fieldOf(format, expression.field);
      if (field === undefined || (what !== "length" && what !== "data")) return () => 0n;
      const span = spanOf(field);
      // The address of data means nothing outside the kernel: its offset stands for it.
      return what === "length"
        ? (data) => BigInt(span(data).size)
        : (data) => BigInt(span(data).offset);
    }
    default:
      return () => 0n;
  }
}

/** `array[index]`, the array with or without a cast. */
function elementOf(array: Expression, index: NumberOf, format: TracepointFormat): NumberOf {
  let of = array;
  let type: string | undefined;
  while (of.kind === "cast") {
    type ??= of.type;
    of = of.of;
  }
  const name = of.kind === "field" ? of.name : of.kind === "dynamic" ? of.field : "";
  const field = fieldOf(format, name);
  if (field === undefined) return () => 0n;
  const span = bytesOf(of, format);
  const element = type?.replace(/ \*$/, "");
  const cast = element === undefined ? 0 : sizeOf(element, format);
  return (data) => {
    const known = cast > 0 ? cast : field.elementSize;
    const size = known > 0 ? known : data.longSize;
    const at = index(data);
    const { offset } = span(data);
    if (at > 0xffffn) return 0n;
    const value = data.number(offset + Number(at) * size, size);
    return element === undefined ? value : castTo(element, value);
  };
}

const SIZES: readonly (readonly [RegExp, number])[] = [
  [/^(__)?[us]8$|^u?int8_t$|^(unsigned |signed )?char$|^bool$/, 1],
  [/^(__)?[us]16$|^u?int16_t$|^(unsigned )?short$/, 2],
  [/^(__)?[us]32$|^u?int32_t$|^(unsigned )?int$|^unsigned$/, 4],
  [/^(__)?[us]64$|^u?int64_t$|^(unsigned )?long long$/, 8],
  [/^(unsigned )?long$|\*$/, -1],
];

/** Bytes of a type, or of `REC->field`; -1 for those of a `long`. */
function sizeOf(type: string, format: TracepointFormat): number {
  if (type.startsWith("REC->")) return fieldOf(format, type.slice(5))?.size ?? 0;
  return SIZES.find(([pattern]) => pattern.test(type))?.[1] ?? 0;
}

/** Refuses what names fields that are not there, or sizes that are not known. */
export function checkNames(expression: Expression, format: TracepointFormat): void {
  const { kind } = expression;
  if (kind === "field" || kind === "dynamic") {
    const name = kind === "field" ? expression.name : expression.field;
    if (fieldOf(format, name) === undefined) throw new TracepointSyntaxError(`no field ${name}`);
  }
  if (kind === "sizeof" && sizeOf(expression.type, format) === 0) {
    throw new TracepointSyntaxError(`no size of ${expression.type}`);
  }
  for (const part of Object.values(expression)) {
    if (typeof part === "object" && !Array.isArray(part)) checkNames(part as Expression, format);
  }
}
