import { type ByteSource, ForwardReader, PerfDataError } from "@perfdata/format/bytes";

/** Bytes of text that are decoded at once. */
const PIECE = 1 << 20;
/** Maximum characters of a line; a call chain of thousands of long names has fewer. */
const LONGEST_LINE = 1 << 24;

/**
 * Calls `take` with each line of a text and its number, from 1. Bytes that are not UTF-8 become
 * U+FFFD.
 *
 * @throws {PerfDataError} If a line is longer than 16 million characters.
 */
export async function eachLine(
  source: ByteSource,
  take: (line: string, number: number) => void,
  progress?: (bytes: number) => void,
): Promise<void> {
  const reader = new ForwardReader(source);
  const decoder = new TextDecoder();
  const piece = new Uint8Array(PIECE);
  let number = 0;
  let rest: string[] = [];
  let waiting = 0;
  for (;;) {
    const size = await reader.read(piece);
    const text = decoder.decode(piece.subarray(0, size), { stream: size > 0 });
    progress?.(size);
    const lines = text.split("\n");
    const last = lines.pop() ?? "";
    if (lines[0] !== undefined && rest.length > 0) {
      lines[0] = rest.join("") + lines[0];
      rest = [];
      waiting = 0;
    }
    for (const line of lines) take(line, ++number);
    if (last !== "") rest.push(last);
    waiting += last.length;
    if (waiting > LONGEST_LINE) {
      throw new PerfDataError(`line ${number + 1} is longer than ${LONGEST_LINE} letters`);
    }
    if (size > 0) continue;
    if (rest.length > 0) take(rest.join(""), ++number);
    return;
  }
}
