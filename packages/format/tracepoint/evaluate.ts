import type { Expression } from "./expression.ts";
import { TracepointSyntaxError } from "./tokens.ts";
import { atomValue, binaryValue, castBits, castTo, unaryValue } from "./values.ts";
import type { TracepointField, TracepointFormat } from "./format_file.ts";
import type { TraceData } from "./trace_data.ts";

/** Evaluates an expression to an unsigned 64-bit number. */
export type NumberOf = (data: TraceData) => bigint;

/** Position of an expression's bytes, from the start of the raw data. */
export interface Span {
  /** Offset of the first byte. */
  readonly offset: number;
  readonly size: number;
}

const EMPTY: Span = { offset: 0, size: 0 };

/** Fields of each format by name. If a name occurs twice, the first field counts. */
const FIELDS = new WeakMap<TracepointFormat, Map<string, TracepointField>>();

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

/** Compiles the position of a field's data: the field itself, or the data that it refers to. */
export function spanOf(field: TracepointField): (data: TraceData) => Span {
  const { offset, size, dynamic } = field;
  if (dynamic === "no") return () => ({ offset, size });
  const base = dynamic === "relative" ? offset + size : 0;
  return (data) => {
    const word = data.small(offset, 4);
    return { offset: base + (word & 0xffff), size: word >>> 16 };
  };
}

/** Compiles the position of the bytes of a field or dynamic array; of other expressions, an empty range. */
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
 * Compiles an expression to a number by the rules of libtraceevent (`eval_num_arg`): 64 unsigned
 * bits throughout; names, and expressions that are not numbers, are 0.
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
      const operand = numberOf(expression.of, format);
      return bits === undefined ? operand : (data) => BigInt.asUintN(bits, operand(data));
    }
    case "sizeof": {
      const size = sizeOf(expression.type, format);
      return (data) => BigInt(size < 0 ? data.longSize : size);
    }
    case "unary": {
      const { operator } = expression;
      const operand = numberOf(expression.of, format);
      return (data) => BigInt.asUintN(64, unaryValue(operator, operand(data)));
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
      // The data's address is meaningless outside the kernel, so its offset is used.
      return what === "length"
        ? (data) => BigInt(span(data).size)
        : (data) => BigInt(span(data).offset);
    }
    default:
      return () => 0n;
  }
}

/** Compiles `array[index]`, with or without a cast of the array. */
function elementOf(array: Expression, index: NumberOf, format: TracepointFormat): NumberOf {
  let operand = array;
  let type: string | undefined;
  while (operand.kind === "cast") {
    type ??= operand.type;
    operand = operand.of;
  }
  const name = operand.kind === "field"
    ? operand.name
    : operand.kind === "dynamic"
    ? operand.field
    : "";
  const field = fieldOf(format, name);
  if (field === undefined) return () => 0n;
  const span = bytesOf(operand, format);
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

/** Returns the size of a type or of `REC->field` in bytes; -1 for the size of a `long`, 0 if unknown. */
function sizeOf(type: string, format: TracepointFormat): number {
  if (type.startsWith("REC->")) return fieldOf(format, type.slice(5))?.size ?? 0;
  return SIZES.find(([pattern]) => pattern.test(type))?.[1] ?? 0;
}

/** Throws if an expression has a missing field or a type of unknown size. */
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
