import type { Address } from "../resolver/address.ts";
import { DW_CFA, DW_EH_PE, RULE } from "./cfi_constants.ts";
import type { ExpressionTable, FrameRules } from "./frame_rules.ts";

function uleb(value: number): number[] {
  const bytes: number[] = [];
  do {
    const rest = Math.floor(value / 128);
    bytes.push(value - rest * 128 | (rest > 0 ? 0x80 : 0));
    value = rest;
  } while (value > 0);
  return bytes;
}

function sleb(value: number): number[] {
  const bytes: number[] = [];
  for (;;) {
    const rest = Math.floor(value / 128);
    const low = value - rest * 128;
    const last = rest === 0 && (low & 0x40) === 0 || rest === -1 && (low & 0x40) !== 0;
    bytes.push(last ? low : low | 0x80);
    if (last) return bytes;
    value = rest;
  }
}

/** Addresses at which the same instructions give the rules. */
interface Range {
  low: Address;
  high: Address;
  readonly cie: number;
  readonly program: string;
}

/**
 * Writes an `.eh_frame` section with the rules of single addresses: those that unwinding a
 * recording's stacks needs without the binaries. Addresses between two with equal rules get these
 * rules too.
 *
 * The order of additions does not change the bytes.
 */
export class FrameSectionWriter {
  readonly #ranges: Range[] = [];

  /**
   * Adds the rules of an address. Each address may be added once.
   *
   * @param address virtual address in the object
   */
  add(address: Address, rules: FrameRules, expressions: ExpressionTable): void {
    if (rules.cfaRegister === -2 || !Number.isSafeInteger(address)) return;
    const program = String.fromCharCode(...programOf(rules, expressions));
    const cie = rules.returnAddress * 2 + Number(rules.signal);
    this.#ranges.push({ low: address, high: address + 1, cie, program });
  }

  /** Encodes the section: little-endian, at address 0. */
  finish(): Uint8Array<ArrayBuffer> {
    const ranges: Range[] = [];
    for (const range of this.#ranges.toSorted((a, b) => a.low - b.low)) {
      const last = ranges.at(-1);
      const same = last !== undefined && last.cie === range.cie && last.program === range.program &&
        range.low - last.low < 2 ** 31;
      if (same) last.high = range.high;
      else ranges.push({ ...range });
    }
    const bytes: number[] = [];
    const cies = new Map<number, number>();
    for (const { low, high, cie, program } of ranges) {
      let at = cies.get(cie);
      if (at === undefined) {
        cies.set(cie, at = bytes.length);
        writeCie(bytes, cie);
      }
      const start = bytes.length;
      const body = [
        ...number(start + 4 - at, 4),
        ...number(low, 8),
        ...number(high - low, 8),
        0,
        ...Array.from(program, (c) => c.charCodeAt(0)),
      ];
      entry(bytes, body);
    }
    return Uint8Array.from(bytes);
  }
}

/** Writes a CIE with data alignment 1, so that all offsets can be expressed. */
function writeCie(bytes: number[], cie: number): void {
  const signal = (cie & 1) === 1;
  const augmentation = signal ? [0x7a, 0x52, 0x53, 0] : [0x7a, 0x52, 0]; // zRS, zR
  entry(bytes, [
    ...[0, 0, 0, 0, 1],
    ...augmentation,
    ...uleb(1),
    ...sleb(1),
    cie >>> 1,
    1,
    DW_EH_PE.udata8,
  ]);
}

function number(value: number, size: number): number[] {
  const bytes: number[] = [];
  for (let i = 0; i < size; i++) {
    const rest = Math.floor(value / 256);
    bytes.push(value - rest * 256);
    value = rest;
  }
  return bytes;
}

/** An entry with its length, padded with `DW_CFA_nop` to a multiple of 4. */
function entry(bytes: number[], body: readonly number[]): void {
  const padding = -body.length & 3;
  bytes.push(...number(body.length + padding, 4), ...body);
  for (let i = 0; i < padding; i++) bytes.push(DW_CFA.nop);
}

/** Encodes rules as instructions with unfactored offsets. */
function programOf(rules: FrameRules, expressions: ExpressionTable): number[] {
  const { cfaRegister, cfaOffset, rule, value } = rules;
  const block = (number: number): number[] => {
    const bytes = expressions.bytes.subarray(expressions.start[number], expressions.end[number]);
    return [...uleb(bytes.length), ...bytes];
  };
  const size = rule.length;
  const program: number[] = cfaRegister === -1
    ? [DW_CFA.def_cfa_expression, ...block(cfaOffset)]
    : cfaOffset >= 0
    ? [DW_CFA.def_cfa, ...uleb(cfaRegister), ...uleb(cfaOffset)]
    : [DW_CFA.def_cfa_sf, ...uleb(cfaRegister), ...sleb(cfaOffset)];
  for (let register = 0; register < size; register++) {
    const about = value[register] as number;
    const numbered = uleb(register);
    switch (rule[register]) {
      case RULE.UNDEFINED:
        program.push(DW_CFA.undefined, ...numbered);
        break;
      case RULE.SAME:
        program.push(DW_CFA.same_value, ...numbered);
        break;
      case RULE.OFFSET:
        program.push(DW_CFA.offset_extended_sf, ...numbered, ...sleb(about));
        break;
      case RULE.VAL_OFFSET:
        program.push(DW_CFA.val_offset_sf, ...numbered, ...sleb(about));
        break;
      case RULE.REGISTER:
        program.push(DW_CFA.register, ...numbered, ...uleb(about));
        break;
      case RULE.EXPRESSION:
        program.push(DW_CFA.expression, ...numbered, ...block(about));
        break;
      case RULE.VAL_EXPRESSION:
        program.push(DW_CFA.val_expression, ...numbered, ...block(about));
        break;
    }
  }
  return program;
}
