import type { Codec } from "@perfdata/format/records";
import type { Trace } from "@perfdata/format/bytes";

/** A part of a structure: a field, an element, or other bytes. */
export interface Leaf {
  /** Offset of the first byte in the decoded bytes. */
  readonly from: number;
  /** Offset after the last byte. */
  readonly to: number;
  /** Path of the part: `.callchain`, `[2]`. */
  readonly path: readonly string[];
  readonly type: string;
  /** The declaration, if the bytes are a single value. */
  readonly codec: Codec<unknown> | undefined;
  readonly value: unknown;
}

interface Node {
  readonly name: string;
  readonly codec: Codec<unknown>;
  readonly from: number;
  to: number;
  value: unknown;
  readonly parts: Node[];
}

/** Records the bytes of each decoded field, even if decoding fails midway. */
export class LeafTrace implements Trace {
  readonly #top: Node[] = [];
  readonly #open: Node[] = [];
  readonly #shift: number;

  /** @param shift Added to all offsets. */
  constructor(shift = 0) {
    this.#shift = shift;
  }

  begin(name: string, codec: Codec<unknown>, offset: number): void {
    const from = offset + this.#shift;
    const node: Node = { name, codec, from, to: from, value: undefined, parts: [] };
    (this.#open.at(-1)?.parts ?? this.#top).push(node);
    this.#open.push(node);
  }

  end(offset: number, value: unknown): void {
    const node = this.#open.pop();
    if (node === undefined) return;
    node.to = offset + this.#shift;
    node.value = value;
  }

  /** The trace for decoding bytes that begin `by` bytes later. */
  shifted(by: number): Trace {
    return {
      begin: (name, codec, offset) => this.begin(name, codec, offset + by),
      end: (offset, value) => this.end(offset + by, value),
    };
  }

  /**
   * The parts of the decoded structure, in order and without overlap.
   *
   * Bytes of a structure between its fields become parts too: a length before the fields, a tail
   * after them.
   */
  leaves(): Leaf[] {
    // If decoding failed, an open node ends with its last part.
    for (const node of this.#open.toReversed()) {
      node.to = Math.max(node.from, ...node.parts.map(({ to }) => to));
    }
    this.#open.length = 0;
    const leaves: Leaf[] = [];
    let at = -1;
    const visit = (node: Node, parents: readonly string[]) => {
      const path = [...parents, node.name.startsWith("[") ? node.name : `.${node.name}`];
      const parts = node.parts.filter(({ from, to }) => to > from);
      const own = (from: number, to: number, name?: string) => {
        const start = Math.max(from, at);
        if (to <= start) return;
        at = to;
        leaves.push(
          name === undefined
            ? {
              from: start,
              to,
              path,
              type: node.codec.type,
              codec: node.codec,
              value: node.value,
            }
            : {
              from: start,
              to,
              path: [...path, name],
              type: `u8[${to - start}]`,
              codec: undefined,
              value: undefined,
            },
        );
      };
      if (parts.length === 0) {
        own(node.from, node.to);
        return;
      }
      own(node.from, (parts[0] as Node).from, ".length");
      for (const part of parts) {
        own(at, part.from, ".between");
        visit(part, path);
      }
      own(at, node.to, ".tail");
    };
    for (const node of this.#top) visit(node, []);
    return leaves;
  }
}

/** Names of a value or of its bits; the number if it has none. */
function named(value: number | bigint, codec: Codec<unknown>): string {
  const { as, names = {} } = codec.display;
  const word = BigInt(value);
  if (as === "enum") {
    const name = names[Number(word)];
    return name === undefined ? String(value) : `${value} (${name})`;
  }
  const set = Object.entries(names).filter(([mask]) => (word & BigInt(mask)) !== 0n);
  const rest = set.reduce((left, [mask]) => left & ~BigInt(mask), BigInt.asUintN(64, word));
  const parts = set.map(([, name]) => name);
  if (rest !== 0n || parts.length === 0) parts.push(`0x${rest.toString(16)}`);
  return parts.join("|");
}

function bitsText(value: object): string {
  const set = Object.entries(value).filter(([, bit]) => bit !== false && bit !== 0 && bit !== 0n);
  return `{${set.map(([name, bit]) => bit === true ? name : `${name}=${bit}`).join(" ")}}`;
}

/** Display value of a part; `undefined` if its bytes say it all. */
export function leafValueText(leaf: Leaf): string | undefined {
  const { value, codec } = leaf;
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number" || typeof value === "bigint") {
    const as = codec?.display.as;
    if (as === "hex") return `0x${value.toString(16)}`;
    return codec !== undefined && (as === "flags" || as === "enum")
      ? named(value, codec)
      : String(value);
  }
  const isPlain = typeof value !== "object" || value === null || value instanceof Uint8Array ||
    Array.isArray(value);
  return isPlain ? undefined : bitsText(value);
}
