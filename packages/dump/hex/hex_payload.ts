import type { Payload } from "@perfdata/format/records";
import { PacketDecoder, PacketKind, perfText } from "@perfdata/intel-pt";
import type { HexParts } from "./hex_parts.ts";
import { type HexRun, PART } from "./hex_run.ts";
import { readUpTo } from "./hex_source.ts";

/** The runs of bytes with unknown meaning. */
export async function* byteRuns(
  parts: HexParts,
  owner: string,
  payload: Payload,
): AsyncGenerator<Iterable<HexRun>, void, void> {
  const buffer = new Uint8Array(PART);
  for (let at = payload.offset;;) {
    const got = await readUpTo({ read: (into) => payload.read(into) }, buffer);
    if (got === 0) return;
    if (parts.touches(at, at + got)) {
      yield [{
        offset: at,
        size: got,
        bytes: buffer.subarray(0, got),
        owner,
        field: ".payload",
        depth: 1,
        type: `u8[${payload.size}]`,
        value: undefined,
        problems: parts.takeProblems(at, at + got),
        inflated: false,
      }];
    }
    at += got;
  }
}

/**
 * The runs of Intel PT data: one per packet, named by its offset in the payload; adjacent PADs
 * share a run.
 */
export async function* packetRuns(
  parts: HexParts,
  owner: string,
  payload: Payload,
): AsyncGenerator<Iterable<HexRun>, void, void> {
  const decoder = new PacketDecoder();
  const buffer = new Uint8Array(PART);
  /** Offset of the buffer in the payload. */
  let before = 0;
  let filled = 0;
  for (let last = false; !last;) {
    const got = await readUpTo({ read: (into) => payload.read(into) }, buffer.subarray(filled));
    filled += got;
    last = got === 0;
    decoder.window(buffer, 0, filled, last);
    let used = 0;
    const packets = function* (): Generator<HexRun, void, void> {
      let kind = decoder.next();
      while (kind > PacketKind.END) {
        const from = used;
        const first = kind;
        do {
          used += decoder.size;
          kind = decoder.next();
        } while (first === PacketKind.PAD && kind === PacketKind.PAD);
        const at = payload.offset + before + from;
        if (!parts.touches(at, at + used - from)) continue;
        const bytes = buffer.subarray(from, used);
        const field = `.payload[0x${(before + from).toString(16)}]`;
        const size = bytes.length;
        yield {
          offset: at,
          size,
          bytes,
          owner,
          field,
          depth: 1,
          type: nameOf(first),
          // Formatted on demand, since it takes longer than the rest.
          get value() {
            return textOf(first, bytes);
          },
          problems: parts.takeProblems(at, at + size),
          inflated: false,
        };
      }
    };
    yield packets();
    buffer.copyWithin(0, used, filled);
    before += used;
    filled -= used;
  }
}

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(PacketKind).map(([name, kind]) => [kind, name.replace("_", ".")]),
);

/** Name of a packet: `TIP.PGE`. */
function nameOf(kind: number): string {
  return NAMES.get(kind) ?? `packet ${kind}`;
}

/** Column of the description in perf's lines. */
const TEXT_COLUMN = 62;

/** The packet's text in perf's lines, without its name; `undefined` if there is none. */
function textOf(kind: number, bytes: Uint8Array): string | undefined {
  if (kind === PacketKind.PAD) return bytes.length === 1 ? undefined : `× ${bytes.length}`;
  // BIP depends on earlier packets; TRIG and later kinds have no text.
  if (kind === PacketKind.BIP || kind >= PacketKind.TRIG) return undefined;
  const line = new TextDecoder().decode(perfText(bytes)).trimEnd().slice(TEXT_COLUMN);
  const at = line.search(/[ ]/);
  return at < 0 ? undefined : line.slice(at + 1);
}
