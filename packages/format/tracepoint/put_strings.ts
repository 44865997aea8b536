import { listText, maskText } from "./net_addresses.ts";
import type { Conversion } from "./conversion.ts";
import { bytesOf, fieldOf, numberOf, spanOf } from "./evaluate.ts";
import type { Expression } from "./expression.ts";
import type { TracepointField, TracepointFormat } from "./format_file.ts";
import type { TextOutput } from "./text_output.ts";
import type { TraceData } from "./trace_data.ts";

/** Writes an argument of `%s`. */
export type PutString = (
  out: TextOutput,
  data: TraceData,
  width: number,
  precision: number,
) => void;

const encoder = new TextEncoder();

/**
 * Compiles an argument of `%s` by the rules of libtraceevent (`print_str_arg`): an expression that is not text
 * prints nothing; a pointer prints its number.
 *
 * @param constants Texts of the kernel by address, for fields that point to them.
 */
export function stringOf(
  expression: Expression,
  format: TracepointFormat,
  { left }: Conversion,
  constants: ReadonlyMap<bigint, string>,
): PutString {
  const put = (out: TextOutput, bytes: Uint8Array, width: number, precision: number) =>
    putPadded(out, bytes, 0, endOf(0, bytes.length, precision), width, left);
  switch (expression.kind) {
    case "atom": {
      const bytes = encoder.encode(expression.text);
      return (out, _, width, precision) => put(out, bytes, width, precision);
    }
    case "field": {
      const field = fieldOf(format, expression.name);
      return field === undefined ? () => {} : fieldText(field, left, constants);
    }
    case "dynamic": {
      const field = fieldOf(format, expression.field);
      if (field === undefined) return () => {};
      return dynamicText(field, expression.what, left);
    }
    case "flags": {
      const number = numberOf(expression.of, format);
      const delimiter = encoder.encode(expression.delimiter);
      const values = expression.values.map(([value, name]) =>
        [BigInt.asIntN(64, value), encoder.encode(name)] as const
      );
      return (out, data, width, precision) => {
        let rest = BigInt.asIntN(64, number(data));
        let isFirst = true;
        for (const [value, name] of values) {
          if (rest === 0n && value < 0n) {
            put(out, name, width, precision);
            break;
          }
          if (value <= 0n || (rest & value) !== value) continue;
          if (!isFirst) out.bytes(delimiter);
          put(out, name, width, precision);
          isFirst = false;
          rest &= ~value;
        }
        if (rest === 0n) return;
        if (!isFirst) out.bytes(delimiter);
        out.string(`0x${BigInt.asUintN(64, rest).toString(16)}`);
      };
    }
    case "symbolic": {
      const number = numberOf(expression.of, format);
      const names = new Map<bigint, Uint8Array>();
      for (const [value, name] of expression.values) {
        const key = BigInt.asUintN(64, value);
        if (!names.has(key)) names.set(key, encoder.encode(name));
      }
      return (out, data, width, precision) => {
        const value = number(data);
        const name = names.get(value);
        if (name === undefined) out.string(`0x${value.toString(16)}`);
        else put(out, name, width, precision);
      };
    }
    case "conditional": {
      const condition = numberOf(expression.condition, format);
      const yes = stringOf(expression.yes, format, { left } as Conversion, constants);
      const no = stringOf(expression.no, format, { left } as Conversion, constants);
      return (out, data, width, precision) =>
        (condition(data) !== 0n ? yes : no)(out, data, width, precision);
    }
    case "hex": {
      const span = bytesOf(expression.of, format);
      const length = numberOf(expression.length, format);
      const { spaced } = expression;
      return (out, data) => {
        const { offset } = span(data);
        const count = Number(BigInt.asIntN(32, length(data)));
        for (let i = 0; i < count && data.has(offset + i, 1); i++) {
          const text = data.small(offset + i, 1).toString(16).padStart(2, "0");
          out.string(i > 0 && spaced ? ` ${text}` : text);
        }
      };
    }
    case "array":
      return arrayText(expression, format);
    default:
      return () => {};
  }
}

function arrayText(
  expression: Extract<Expression, { kind: "array" }>,
  format: TracepointFormat,
): PutString {
  const span = bytesOf(expression.of, format);
  const count = numberOf(expression.count, format);
  const elementSize = numberOf(expression.size, format);
  return (out, data) => {
    const { offset } = span(data);
    const size = Number(BigInt.asIntN(32, elementSize(data)));
    const elements = Number(BigInt.asIntN(32, count(data)));
    const known = size === 1 || size === 2 || size === 4 || size === 8;
    const step = known ? size : 1;
    for (let i = 0; i < elements && data.has(offset + i * step, step); i++) {
      const at = offset + i * step;
      const text = known
        ? String(data.number(at, size))
        : `BAD SIZE:${size} 0x${data.small(at, 1).toString(16)}`;
      out.string(i > 0 ? ` ${text}` : text);
    }
  };
}

function fieldText(
  field: TracepointField,
  left: boolean,
  constants: ReadonlyMap<bigint, string>,
): PutString {
  const { offset, size, array } = field;
  return (out, data, width, precision) => {
    if (!array && size === data.longSize) {
      const address = data.number(offset, size);
      out.string(constants.get(address) ?? address.toString(16));
      return;
    }
    // A field of size 0 extends to the end of the data.
    const end = data.textEnd(offset, size === 0 ? 1 << 16 : size);
    const from = data.start + offset;
    putPadded(out, data.bytes, from, endOf(from, end, precision), width, left);
  };
}

function dynamicText(field: TracepointField, what: string, left: boolean): PutString {
  const span = spanOf(field);
  if (what === "string") {
    return (out, data, width, precision) => {
      const { offset, size } = span(data);
      if (size === 0) return;
      // As in C, the string ends at its NUL, whatever its length.
      const end = data.textEnd(offset, 1 << 16);
      const from = data.start + offset;
      putPadded(out, data.bytes, from, endOf(from, end, precision), width, left);
    };
  }
  if (what !== "bitmask" && what !== "cpumask") return () => {};
  const text = what === "bitmask" ? maskText : listText;
  return (out, data, width, precision) => {
    const { offset, size } = span(data);
    const bytes = encoder.encode(text(data, offset, size));
    putPadded(out, bytes, 0, endOf(0, bytes.length, precision), width, left);
  };
}

/** Returns the end of the bytes `[from, to)`, limited by a precision. */
function endOf(from: number, to: number, precision: number): number {
  return precision >= 0 ? Math.min(to, from + precision) : to;
}

function putPadded(
  out: TextOutput,
  bytes: Uint8Array,
  from: number,
  end: number,
  width: number,
  left: boolean,
): void {
  const padding = width - Math.max(0, end - from);
  if (!left) out.spaces(padding);
  if (end > from) out.part(bytes, from, end);
  if (left) out.spaces(padding);
}
