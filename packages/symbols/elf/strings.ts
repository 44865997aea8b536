const utf8 = new TextDecoder();

/**
 * Decodes `bytes[start … end]`: names are nearly always ASCII, for which short strings are made
 * faster by hand than by `TextDecoder`; anything else is read as UTF-8, where a bad byte becomes
 * U+FFFD.
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
