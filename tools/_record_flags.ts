/** Values of flags that several commands have. */
import { isRecordName } from "@perfdata/dump/records";
import { UsageError } from "./_cli.ts";

/**
 * A number that is not negative, decimal or with `0x`.
 *
 * @throws {UsageError} Where it is none.
 */
export function parseOffset(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = /^(0x[0-9a-f]+|\d+)$/i.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value)) throw new UsageError(`--${flag} is ${text}, expected a number`);
  return value;
}

/**
 * One of several words.
 *
 * @throws {UsageError} Where it is none of them.
 */
export function parseWord<const W extends string>(
  flag: string,
  text: string | undefined,
  words: readonly W[],
): W | undefined {
  if (text === undefined) return undefined;
  const found = words.find((word) => word === text);
  if (found === undefined) {
    throw new UsageError(`--${flag} is ${text}, expected ${words.join(", ")}`);
  }
  return found;
}

/**
 * Names of record types: `SAMPLE,MMAP2`.
 *
 * @throws {UsageError} Where one is not known.
 */
export function parseTypes(text: string | undefined): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined;
  const names = text.toUpperCase().split(",").map((name) => name.replace(/^PERF_RECORD_/, ""));
  for (const name of names) {
    if (!isRecordName(name)) throw new UsageError(`--type: ${name} is no type of record`);
  }
  return new Set(names);
}

/** The members that are not `undefined`. */
export function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as { [K in keyof T]: Exclude<T[K], undefined> };
}
