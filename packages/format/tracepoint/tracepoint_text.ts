import {
  ip4Text,
  ip6Text,
  listText,
  macText,
  maskText,
  socketText,
  uuidText,
} from "./net_addresses.ts";
import { type Conversion, formatNumber, limitedWidth, parseFormat } from "./conversion.ts";
import { bytesOf, checkNames, fieldOf, numberOf, spanOf } from "./evaluate.ts";
import { EventHeaderText, isEventHeader } from "./event_header.ts";
import type { Expression } from "./expression.ts";
import type { TracepointField, TracepointFormat } from "./format_file.ts";
import { TextOutput } from "./text_output.ts";
import { stringOf } from "./put_strings.ts";
import { TracepointSyntaxError } from "./tokens.ts";
import { TraceData } from "./trace_data.ts";
import type { TracepointFormats } from "./tracepoint_formats.ts";
import { castBits } from "./values.ts";

/** A function of the kernel that contains an address. */
export interface TraceSymbol {
  /** Name of the function. */
  readonly name: string;
  /** Distance of the address from the function's start. */
  readonly distance: bigint;
}

/** Looks up the function at an address. */
export type FindSymbol = (address: bigint) => TraceSymbol | undefined;

type Put = (out: TextOutput, data: TraceData) => void;

/** Compiled print format of an event. */
interface Printer {
  readonly puts: readonly Put[];
  /** Addresses whose functions are printed. */
  readonly addresses: readonly ((data: TraceData) => bigint)[];
}

/**
 * Prints the raw data of tracepoints by their print formats in TRACING_DATA,
 * like libtraceevent, which perf uses. If a format cannot be parsed, or calls
 * functions that only the kernel has, all fields are listed after `[FAILED TO PARSE]`.
 *
 * Pointers to texts of the kernel are looked up in `printk_formats`. The text of a sample is cut at 1 MB.
 */
export class TracepointText {
  readonly #formats: TracepointFormats;
  readonly #data: TraceData;
  readonly #constants: ReadonlyMap<bigint, string>;
  readonly #printers = new Map<number, Printer>();
  readonly #out = new TextOutput();
  readonly #symbol: FindSymbol;

  /**
   * Creates a printer. A format is parsed when its first sample is printed.
   *
   * @param symbol Looks up functions for `%ps` and `%pS`.
   */
  constructor(formats: TracepointFormats, symbol: FindSymbol) {
    this.#formats = formats;
    this.#data = new TraceData(formats.longSize, formats.littleEndian);
    this.#symbol = symbol;
    this.#constants = formats.constants();
  }

  /** Whether the recording describes the tracepoint. */
  has(id: number): boolean {
    return this.#formats.names.has(id);
  }

  /**
   * Formats raw data as bytes that are valid until the next call.
   *
   * @param id Id of the tracepoint: `config` of its attr.
   * @param start Index of the raw data, after its size.
   */
  text(id: number, bytes: Uint8Array, view: DataView, start: number, end: number): Uint8Array {
    this.#data.take(bytes, view, start, end);
    for (const put of this.#printer(id).puts) put(this.#out, this.#data);
    return this.#out.take();
  }

  /** Returns the addresses that {@linkcode TracepointText.text} looks up for this raw data. */
  addresses(
    id: number,
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
  ): readonly bigint[] {
    const { addresses } = this.#printer(id);
    if (addresses.length === 0) return [];
    this.#data.take(bytes, view, start, end);
    return addresses.map((address) => address(this.#data));
  }

  #printer(id: number): Printer {
    let printer = this.#printers.get(id);
    if (printer === undefined) {
      this.#printers.set(id, printer = this.#prepare(this.#formats.get(id)));
    }
    return printer;
  }

  #prepare(format: TracepointFormat | undefined): Printer {
    if (format === undefined) return { puts: [], addresses: [] };
    const printer = this.#prepareFields(format);
    if (!isEventHeader(format)) return printer;
    const events = new EventHeaderText(format);
    return { ...printer, puts: [...printer.puts, (out, data) => events.put(out, data)] };
  }

  #prepareFields(format: TracepointFormat): Printer {
    if (format.print !== undefined) {
      try {
        return this.#prepareArguments(format, format.print.format, format.print.args);
      } catch (error) {
        if (!(error instanceof TracepointSyntaxError)) throw error;
      }
    }
    return {
      puts: [(out) => out.string("[FAILED TO PARSE]"), ...format.fields.map(listed)],
      addresses: [],
    };
  }

  #prepareArguments(format: TracepointFormat, text: string, args: readonly Expression[]): Printer {
    for (const arg of args) checkNames(arg, format);
    const puts: Put[] = [];
    const addresses: ((data: TraceData) => bigint)[] = [];
    let used = 0;
    const next = (): Expression => {
      const arg = args[used++];
      if (arg === undefined) throw new TracepointSyntaxError("an argument is missing");
      return arg;
    };
    for (const part of parseFormat(text)) {
      if (part.kind === "text") {
        const bytes = new TextEncoder().encode(part.text);
        puts.push((out) => out.bytes(bytes));
        continue;
      }
      const { conversion } = part;
      const { width, precision, pointer } = conversion;
      const sizeOf = (known: number | undefined) => {
        if (known !== undefined) return () => known;
        const argument = numberOf(next(), format);
        return (data: TraceData) => limitedWidth(argument(data));
      };
      const widthOf = sizeOf(width);
      const precisionOf = sizeOf(precision);
      const arg = next();
      if (/^[FfSs]/.test(pointer)) {
        const address = numberOf(arg, format);
        addresses.push(address);
        puts.push(this.#functionOf(address, /^[FS]/.test(pointer)));
      } else if (pointer !== "") puts.push(pointerOf(arg, format, pointer, widthOf));
      else if (conversion.letter === "s") {
        const put = stringOf(arg, format, conversion, this.#constants);
        puts.push((out, data) => put(out, data, widthOf(data), precisionOf(data)));
      } else puts.push(plainNumber(arg, format, conversion) ?? number(arg));

      // deno-lint-ignore no-inner-declarations
      function number(expression: Expression): Put {
        const value = numberOf(expression, format);
        return (out, data) =>
          putNumber(out, value(data), conversion, widthOf(data), precisionOf(data));
      }
    }
    return { puts, addresses };
  }

  #functionOf(addressOf: (data: TraceData) => bigint, withDistance: boolean): Put {
    return (out, data) => {
      const address = addressOf(data);
      const symbol = this.#symbol(address);
      if (symbol === undefined) out.string(`0x${address.toString(16)}`);
      else {
        out.string(
          withDistance ? `${symbol.name}+0x${symbol.distance.toString(16)}` : symbol.name,
        );
      }
    };
  }
}

/** Compiles the common case of an unconverted field, without `bigint`; `undefined` for other cases. */
function plainNumber(
  arg: Expression,
  format: TracepointFormat,
  { letter, bits, width, precision, left, zeros, alternate, plus, space }: Conversion,
): Put | undefined {
  // A cast to a type that keeps all bits has no effect.
  while (arg.kind === "cast" && castBits(arg.type) === undefined) arg = arg.of;
  if (arg.kind !== "field" || bits < 32 || width !== 0 || precision !== -1) return undefined;
  if (left || zeros || alternate || plus || space) return undefined;
  const { offset, size } = fieldOf(format, arg.name) as TracepointField;
  const high = size === 8 && (bits === 64 || letter === "p")
    ? (data: TraceData) => data.high(offset)
    : letter === "d" && bits === 32
    ? (_: TraceData, low: number) => low >> 31
    : () => 0;
  const low = size === 8
    ? (data: TraceData) => data.low(offset)
    : (data: TraceData) => data.small(offset, size);
  const put = (action: (out: TextOutput, hi: number, lo: number) => void): Put => (out, data) => {
    const lo = low(data);
    action(out, high(data, lo), lo);
  };
  if (letter === "d") return put((out, hi, lo) => out.signed(hi, lo));
  if (letter === "u") return put((out, hi, lo) => out.decimal(hi, lo));
  if (letter === "x") return put((out, hi, lo) => out.hex(hi, lo));
  if (letter !== "p") return undefined;
  return put((out, hi, lo) => {
    if (hi === 0 && lo === 0) return out.string("(nil)");
    out.string("0x");
    out.hex(hi, lo);
  });
}

function putNumber(
  out: TextOutput,
  value: bigint,
  conversion: Conversion,
  width: number,
  precision: number,
): void {
  if (conversion.letter === "p") {
    const text = value === 0n ? "(nil)" : `0x${value.toString(16)}`;
    out.string(conversion.left ? text.padEnd(width) : text.padStart(width));
  } else if (conversion.letter === "c") {
    const byte = Number(value & 0xffn);
    if (!conversion.left) out.spaces(width - 1);
    out.part(Uint8Array.of(byte), 0, 1);
    if (conversion.left) out.spaces(width - 1);
  } else out.string(formatNumber(value, conversion, width, precision));
}

/** Numbers of argument kinds in messages of libtraceevent (`enum tep_print_arg_type`). */
const KIND_NUMBERS: Readonly<Record<Expression["kind"], number>> = {
  atom: 1,
  field: 2,
  flags: 3,
  symbolic: 4,
  hex: 5,
  array: 6,
  cast: 7,
  dynamic: 10,
  unary: 11,
  binary: 11,
  conditional: 11,
  index: 11,
  sizeof: 1,
};

/** Compiles `%pI4` and the other pointer formats. */
function pointerOf(
  arg: Expression,
  format: TracepointFormat,
  letters: string,
  width: (data: TraceData) => number,
): Put {
  const span = bytesOf(arg, format);
  const isDynamic = arg.kind === "dynamic" && (arg.what === "data" || arg.what === "sockaddr");
  if (letters.startsWith("h")) {
    if (!isDynamic) return wrongKind(arg);
    return (out, data) => out.string(hexText(data, span(data), width(data), letters[1]));
  }
  if (letters.startsWith("b")) {
    const text = letters === "bl" ? listText : maskText;
    return (out, data) => {
      const { offset, size } = span(data);
      out.string(text(data, offset, Math.min(size, (width(data) + 7) >> 3)));
    };
  }
  const isSocket = /^[Ii]S/.test(letters);
  if (arg.kind !== "field" && !(isSocket && isDynamic)) return wrongKind(arg);
  const fixed = (name: string, size: number, text: typeof ip4Text): Put => (out, data) => {
    const at = span(data);
    out.string(at.size === size ? text(data, at.offset, letters) : `INVALID${name}`);
  };
  if (isSocket) {
    return (out, data) => {
      const { offset, size } = span(data);
      out.string(socketText(data, offset, size, letters));
    };
  }
  if (/^[Mm]/.test(letters)) return fixed("MAC", 6, macText);
  if (letters.startsWith("U")) return fixed("UUID", 16, uuidText);
  return letters[1] === "4" ? fixed("IPv4", 4, ip4Text) : fixed("IPv6", 16, ip6Text);
}

function wrongKind(arg: Expression): Put {
  const text = `ARG TYPE NOT FIELD BUT ${KIND_NUMBERS[arg.kind]}`;
  return (out) => out.string(text);
}

/** Formats `%*ph`: at most `width` bytes, one by default. */
function hexText(
  data: TraceData,
  { offset, size }: { readonly offset: number; readonly size: number },
  width: number,
  letter: string | undefined,
): string {
  const delimiter = letter === "C" ? ":" : letter === "D" ? "-" : letter === "N" ? "" : " ";
  const count = Math.min(size, width || 1);
  const bytes: string[] = [];
  for (let i = 0; i < count && data.has(offset + i, 1); i++) {
    bytes.push(data.small(offset + i, 1).toString(16).padStart(2, "0"));
  }
  return bytes.join(delimiter);
}

/** Compiles ` name=value`, as libtraceevent lists fields (`tep_print_field`). */
function listed(field: TracepointField): Put {
  const { name, offset, size } = field;
  const head = ` ${name}=`;
  if (!field.array) {
    return (out, data) => {
      out.string(head);
      out.string(listedNumber(field, data.number(offset, size)));
    };
  }
  const span = spanOf(field);
  return (out, data) => {
    out.string(head);
    const at = span(data);
    const end = data.textEnd(at.offset, at.size);
    if (field.string && isPrintable(data.bytes, data.start + at.offset, end)) {
      out.part(data.bytes, data.start + at.offset, data.textEnd(at.offset, 1 << 16));
      return;
    }
    const bytes: string[] = [];
    for (let i = 0; i < at.size && data.has(at.offset + i, 1); i++) {
      bytes.push(data.small(at.offset + i, 1).toString(16).padStart(2, "0"));
    }
    out.string(`ARRAY[${bytes.join(", ")}]`);
  };
}

function listedNumber({ size, pointer, signed, long }: TracepointField, value: bigint): string {
  if (pointer || (!signed && long)) return `0x${value.toString(16)}`;
  if (!signed) return String(value);
  const number = BigInt.asIntN(size === 0 ? 64 : 8 * Math.min(size, 8), value);
  if (size === 4 && long) return `0x${value.toString(16)}`;
  return size === 2 ? String(number).padStart(2) : String(number);
}

function isPrintable(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number;
    if ((byte < 0x20 && !(byte >= 9 && byte <= 13)) || byte > 0x7e) return false;
  }
  return true;
}
