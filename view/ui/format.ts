/** Numbers and names as the page shows them. */

/** A share as percent. */
export function percent(part: number, all: number): string {
  const value = all === 0 ? 0 : 100 * part / all;
  return `${value.toFixed(value !== 0 && value < 0.1 ? 3 : 2)}%`;
}

/** A number in groups of three. */
export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

/** Nanoseconds with a unit. */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size >= 1e9) return `${(ns / 1e9).toFixed(size >= 1e11 ? 1 : 3)} s`;
  if (size >= 1e6) return `${(ns / 1e6).toFixed(3)} ms`;
  if (size >= 1e3) return `${(ns / 1e3).toFixed(1)} µs`;
  return `${Math.round(ns)} ns`;
}

/** A weight with its unit: of clocks a time. */
export function amount(value: number, unit: "nanoseconds" | "count"): string {
  return unit === "count" ? grouped(value) : duration(value);
}

/** Bytes with a unit. */
export function byteSize(bytes: number): string {
  const units = ["bytes", "KB", "MB", "GB"];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; unit++) bytes /= 1000;
  return `${unit === 0 ? bytes : bytes.toPrecision(3)} ${units[unit]}`;
}

/** Seconds, with as many digits as tell apart what is `step` nanoseconds from each other. */
export function seconds(ns: number, step = 1): string {
  const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(Math.max(1, step)))));
  return `${(ns / 1e9).toFixed(digits)} s`;
}

/**
 * A name in so many characters: without the arguments of templates, then without those of the function,
 * then without its middle, since its end says most.
 */
export function shortened(name: string, room: number): string {
  if (name.length <= room) return name;
  if (room < 4) return name.slice(0, Math.max(0, room));
  let short = withoutNested(name, "<", ">");
  if (short.length > room) short = withoutNested(short, "(", ")");
  if (short.length <= room) return short;
  const head = Math.floor((room - 1) / 3);
  return `${short.slice(0, head)}…${short.slice(short.length - (room - 1 - head))}`;
}

/** The name with `…` for all that is between brackets, those of operators left alone. */
function withoutNested(name: string, open: string, close: string): string {
  let depth = 0;
  let short = "";
  for (let i = 0; i < name.length; i++) {
    const character = name[i] as string;
    const isOperator = /operator[<>()=-]*$/.test(name.slice(Math.max(0, i - 11), i)) ||
      (character === ">" && name[i - 1] === "-");
    if (!isOperator && character === open) {
      // An anonymous namespace is a name.
      const isName = depth === 0 && name.startsWith("(anonymous", i);
      if (isName) {
        const end = name.indexOf(")", i);
        if (end > 0) {
          short += name.slice(i, end + 1);
          i = end;
          continue;
        }
      }
      if (depth++ === 0) short += `${open}…${close}`;
    } else if (!isOperator && character === close && depth > 0) depth--;
    else if (depth === 0) short += character;
  }
  return depth === 0 ? short : name;
}
