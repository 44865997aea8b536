import type { Payload } from "@perfdata/format/records";
import { PERF_TEXT_ROOM, PerfText } from "@perfdata/intel-pt";
import {
  PERF_AUXTRACE_CS_ETM,
  PERF_AUXTRACE_INTEL_PT,
  PERF_AUXTRACE_NAMES,
} from "@perfdata/user-records";
import type { AuxBytes, AuxText } from "./aux_line.ts";
import type { TextOut } from "../text/text_out.ts";

/**
 * Writes the AUX data of an AUXTRACE record, if its format is known.
 *
 * @param type The type in AUXTRACE_INFO.
 * @param offset Offset of the data in perf's memory: for a file, its alignment in the file.
 * @param first The offset to print for the first packet.
 * @returns Whether the format is known.
 */
export async function putAuxPayload(
  out: TextOut,
  payload: Payload,
  type: number,
  offset: number,
  first: number,
): Promise<boolean> {
  if (type === PERF_AUXTRACE_INTEL_PT) {
    out.text(`.\n. ... Intel Processor Trace data: size ${payload.size} bytes\n`);
    await putIntelPt(out, payload, first);
    return true;
  }
  const { auxTextOf } = await import("./aux_text.ts");
  const text = auxTextOf(type, offset);
  if (text !== undefined) {
    await putLines(out, payload, text, first);
    return true;
  }
  const size = `size 0x${payload.size.toString(16)} bytes\n`;
  out.text(
    type === PERF_AUXTRACE_CS_ETM
      ? `\n. ... CoreSight ETM Trace data: ${size}`
      : `.\n. ... ${PERF_AUXTRACE_NAMES[type] ?? "unknown"} data: ${size}`,
  );
  return false;
}

/** Writes the Intel PT data of a sample: bytes `[from, from + size)`. */
export function putAuxSample(out: TextOut, bytes: Uint8Array, from: number, size: number): void {
  out.text(`\n. ... Intel Processor Trace data: size ${size} bytes\n`);
  putPackets(out, new PerfText(), bytes, from, from + size, true);
}

async function putLines(
  out: TextOut,
  payload: Payload,
  text: AuxText,
  first: number,
): Promise<void> {
  const input = new Uint8Array(1 << 16);
  const bytes: AuxBytes = { input, at: 0, end: 0, position: first };
  let filled = 0;
  for (let last = false; !last;) {
    const got = await payload.read(input.subarray(filled));
    filled += got;
    last = got === 0;
    if (!last && filled < text.reach) continue;
    if (bytes.position === first) out.text(text.heading(payload.size, input));
    bytes.end = filled;
    for (bytes.at = 0; last ? bytes.at < filled : filled - bytes.at >= text.reach;) {
      out.reserve();
      out.p = text.put(out.view, out.p, bytes);
      bytes.at += text.consumed;
      bytes.position += text.consumed;
    }
    input.copyWithin(0, bytes.at, filled);
    filled -= bytes.at;
  }
}

async function putIntelPt(out: TextOut, payload: Payload, first: number): Promise<void> {
  const text = new PerfText(first);
  const input = new Uint8Array(1 << 17);
  let filled = 0;
  for (let last = false; !last;) {
    const got = await payload.read(input.subarray(filled));
    filled += got;
    last = got === 0;
    const used = putPackets(out, text, input, 0, filled, last);
    input.copyWithin(0, used, filled);
    filled -= used;
  }
}

/** Writes packets. Returns the number of bytes of input that were used. */
function putPackets(
  out: TextOut,
  text: PerfText,
  input: Uint8Array,
  from: number,
  to: number,
  last: boolean,
): number {
  for (let at = from;;) {
    out.p = text.write(input, at, to, last, out.bytes, out.p);
    at += text.consumed;
    if (out.bytes.length - out.p >= PERF_TEXT_ROOM) return at;
    out.flush();
  }
}
