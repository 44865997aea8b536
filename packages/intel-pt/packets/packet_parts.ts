import {
  type Piece,
  piece,
  putDecimal,
  putHex,
  putHex16,
  putHex2,
  putHex4,
  putHex8,
} from "@perfdata/format/bytes";
import type { PacketDecoder } from "./packet_decoder.ts";
import { type Choices, type PacketField, type PacketText, PAYLOAD } from "../text/packet_texts.ts";

/**
 * Format of a field: hexadecimal, with a fixed number of digits if given; decimal (`d`); or a C-state (`c`), which is
 * one more than its number. `by` selects a text by the value; `branches` writes a character for each branch of a TNT.
 */
type Format = "" | "x4" | "x8" | "x16" | "x2" | "d" | "c" | "by" | "branches";

/** A literal followed by a field. */
export interface PacketStep {
  readonly before: Piece;
  /** Format of the field; `undefined` if no field follows. */
  readonly format: Format | undefined;
  readonly field: PacketField;
  /** Mask of the value's valid bits. */
  readonly mask: number;
  /** Texts by value, for the format `by`. */
  readonly choices: readonly (readonly PacketStep[])[];
  /** Characters of branches not taken and taken, for `branches`. */
  readonly characters: readonly number[];
}

/** A field in a text: its name, and a format after a colon or question mark. */
const FIELD = /\{(\w*)(?:([:?])([^{}]*))?\}/;

/** Compiles a text of {@linkcode PacketText}; {@linkcode putPacket} writes it. */
export function stepsOf(text: string, packet: PacketText): readonly PacketStep[] {
  const steps: PacketStep[] = [];
  const pieces = text.split(FIELD);
  for (let i = 0; i < pieces.length; i += 4) {
    const [before = "", name, mark, format = ""] = pieces.slice(i, i + 4);
    if (name === undefined && before === "") break;
    const field = name ? packet.fields?.[name] : PAYLOAD;
    if (field === undefined) throw new RangeError(`${text}: no field ${name}`);
    const choices: Choices | undefined = mark === "?" ? { 1: format } : packet.choices?.[format];
    const characters = /^(TN|!\.)$/.test(format)
      ? [format.charCodeAt(1), format.charCodeAt(0)]
      : [];
    steps.push({
      before: piece(before),
      format: name === undefined
        ? undefined
        : choices !== undefined
        ? "by"
        : characters.length > 0
        ? "branches"
        : format as Format,
      field,
      mask: field.bits < 32 ? (1 << field.bits) - 1 : -1,
      choices: choices === undefined ? [] : Array.from(
        { length: 1 << field.bits },
        (_, value) => stepsOf(choices[value] ?? choices.other ?? "", packet),
      ),
      characters,
    });
  }
  return steps;
}

/** Writes a compiled text for the decoder's current packet. */
export function putPacket(
  view: DataView,
  at: number,
  steps: readonly PacketStep[],
  packet: PacketDecoder,
): number {
  for (let i = 0; i < steps.length; i++) {
    const { before, format, field, mask, choices, characters } = steps[i] as PacketStep;
    at = before.put(view, at);
    if (format === undefined) break;
    let { low, high } = packet;
    if (format === "branches") {
      for (let bit = packet.count - 1; bit >= 0; bit--) {
        const taken = bit < 32 ? low >>> bit & 1 : high >>> (bit - 32) & 1;
        view.setUint8(at++, characters[taken] as number);
      }
      continue;
    }
    const { of, from, bits, below } = field;
    if (of === "ip") {
      low = packet.ipLow;
      high = packet.ipHigh;
    } else if (of !== "payload") {
      low = packet[of];
      high = 0;
    }
    if (from >= 32) {
      low = high >>> from - 32;
      high = 0;
    } else if (from > 0) {
      low = low >>> from | high << 32 - from;
      high >>>= from;
    }
    if (bits <= 32) {
      low &= mask;
      high = 0;
    }
    if (below > 0) {
      high = high << below | low >>> 32 - below;
      low <<= below;
    }
    switch (format) {
      case "":
        at = putHex(view, at, high, low);
        break;
      case "x2":
        at = putHex2(view, at, low);
        break;
      case "x4":
        at = putHex4(view, at, low);
        break;
      case "x8":
        at = putHex8(view, at, low);
        break;
      case "x16":
        at = putHex16(view, at, high, low);
        break;
      case "d":
        at = putDecimal(view, at, low);
        break;
      case "c":
        at = putDecimal(view, at, low + 1 & 0xf);
        break;
      case "by":
        at = putPacket(view, at, choices[low] as readonly PacketStep[], packet);
    }
  }
  return at;
}
