const utf8 = new TextDecoder();

/**
 * Decodes `bytes[start … end]`. Names are nearly always ASCII, and short ones are decoded faster by
 * hand than by `TextDecoder`. Other names are decoded as UTF-8; invalid bytes become U+FFFD.
 */
export function decodeName(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > 24) return utf8.decode(bytes.subarray(start, end));
  let text = "";
  for (let i = start; i < end; i++) {
    const byte = bytes[i] ?? 0;
    if (byte >= 0x80) return utf8.decode(bytes.subarray(start, end));
    text += String.fromCharCode(byte);
  }
  return text;
}
