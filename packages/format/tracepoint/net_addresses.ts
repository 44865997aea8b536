import type { TraceData } from "./trace_data.ts";

const hex2 = (byte: number): string => byte.toString(16).padStart(2, "0");

function bytesAt(data: TraceData, offset: number, size: number): number[] {
  return Array.from({ length: size }, (_, i) => data.small(offset + i, 1));
}

/** Formats `%pM`, `%pMR`, `%pMF`, `%pm`: a MAC address. */
export function macText(data: TraceData, offset: number, letters: string): string {
  const bytes = bytesAt(data, offset, 6);
  if (letters[1] === "R") bytes.reverse();
  return bytes.map(hex2).join(letters[0] === "m" ? "" : letters[1] === "F" ? "-" : ":");
}

/** Formats `%pI4`, `%pi4`, with `h`, `l`, `n` or `b` for the byte order. */
export function ip4Text(data: TraceData, offset: number, letters: string): string {
  const bytes = bytesAt(data, offset, 4);
  const isReversed = letters.includes("l") || (letters.includes("h") && data.littleEndian);
  if (isReversed) bytes.reverse();
  const width = letters[0] === "i" ? 3 : 1;
  return bytes.map((byte) => String(byte).padStart(width, "0")).join(".");
}

/** Formats `%pI6`, `%pi6`, `%pI6c`. */
export function ip6Text(data: TraceData, offset: number, letters: string): string {
  const bytes = bytesAt(data, offset, 16);
  const words = Array.from(
    { length: 8 },
    (_, i) => (bytes[2 * i] ?? 0) << 8 | (bytes[2 * i + 1] ?? 0),
  );
  if (letters[0] === "I" && letters.includes("c")) return compressed(data, offset, words);
  return words.map((word) => word.toString(16).padStart(4, "0")).join(
    letters[0] === "I" ? ":" : "",
  );
}

/** Formats an address by RFC 5952, as the kernel does: the longest run of zeros becomes `::`. */
function compressed(data: TraceData, offset: number, words: readonly number[]): string {
  const isMapped = words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
  // An ISATAP address contains an IPv4 address.
  const isIsatap = ((words[4] ?? 0) | 0x0200) === 0x0200 && words[5] === 0x5efe;
  const hasIp4 = isMapped || isIsatap;
  const range = hasIp4 ? 6 : 8;
  let longest = 1;
  let from = -1;
  for (let i = 0; i < range; i++) {
    let n = 0;
    while (i + n < range && words[i + n] === 0) n++;
    if (n > longest) {
      longest = n;
      from = i;
    }
  }
  const hex = (part: readonly number[]) => part.map((word) => word.toString(16)).join(":");
  const all = words.slice(0, range);
  const text = from < 0
    ? hex(all)
    : `${hex(all.slice(0, from))}::${hex(all.slice(from + longest))}`;
  if (!hasIp4) return text;
  return `${text.endsWith(":") ? text : `${text}:`}${ip4Text(data, offset + 12, "I")}`;
}

const AF_INET = 2;
const AF_INET6 = 10;

/** Formats `%pISpc`: a `struct sockaddr`, with its port if the letters include `p`. */
export function socketText(
  data: TraceData,
  offset: number,
  size: number,
  letters: string,
): string {
  const family = data.small(offset, 2);
  const port = data.small(offset + 2, 1) << 8 | data.small(offset + 3, 1);
  const hasPort = letters.includes("p");
  if (family === AF_INET) {
    if (size < 16) return "INVALIDIPv4";
    const order = letters[0] + letters.replace(/[pfsc]/g, "").slice(2);
    return `${ip4Text(data, offset + 4, order)}${hasPort ? `:${port}` : ""}`;
  }
  if (family !== AF_INET6) return "";
  if (size < 28) return "INVALIDIPv6";
  const address = ip6Text(data, offset + 8, letters[0] + (letters.includes("c") ? "c" : ""));
  return hasPort ? `[${address}]:${port}` : address;
}

const GUID_ORDER = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];

/** Formats `%pUb`, `%pUB`, `%pUl`, `%pUL`: a big- or little-endian UUID, in lower or upper case. */
export function uuidText(data: TraceData, offset: number, letters: string): string {
  const bytes = bytesAt(data, offset, 16);
  const order = /[lL]/.test(letters) ? GUID_ORDER : GUID_ORDER.map((_, i) => i);
  const text = order.map((i) => hex2(bytes[i] ?? 0));
  for (const i of [10, 8, 6, 4]) text.splice(i, 0, "-");
  return /[LB]/.test(letters) ? text.join("").toUpperCase() : text.join("");
}

/** Formats a bit mask in hexadecimal, with a comma every 32 bits. */
export function maskText(data: TraceData, offset: number, size: number): string {
  let text = "";
  for (let i = 0; i < size && data.has(offset + i, 1); i++) {
    if (i > 0 && i % 4 === 0) text = `,${text}`;
    text = hex2(data.small(offset + (data.littleEndian ? i : size - 1 - i), 1)) + text;
  }
  return text;
}

/** Formats the bits of a mask as a list: `0-3,7`. */
export function listText(data: TraceData, offset: number, size: number): string {
  const runs: string[] = [];
  const isSet = (bit: number): boolean => {
    const i = bit >> 3;
    return i < size &&
      (data.small(offset + (data.littleEndian ? i : size - 1 - i), 1) >> (bit & 7) & 1) !== 0;
  };
  for (let bit = 0; bit < size * 8; bit++) {
    if (!isSet(bit)) continue;
    const first = bit;
    while (isSet(bit + 1)) bit++;
    runs.push(first === bit ? String(bit) : `${first}-${bit}`);
  }
  return runs.join(",");
}
