/**
 * Declarations of what this repository uses of `@std/*`.
 *
 * The npm package behind the import map ships JavaScript without types; these declarations follow
 * the documentation of the modules of the same name, so that a wrong call is a type error.
 */

declare module "@std/assert/mod" {
  export class AssertionError extends Error {}
  export function assert(expr: unknown, msg?: string): asserts expr;
  export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): void;
  export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T>;
  export function assertAlmostEquals(
    actual: number,
    expected: number,
    tolerance?: number,
    msg?: string,
  ): void;
  export function assertStringIncludes(actual: string, expected: string, msg?: string): void;
  export function assertMatch(actual: string, expected: RegExp, msg?: string): void;
  export function assertArrayIncludes<T>(
    actual: ArrayLike<T>,
    expected: ArrayLike<T>,
    msg?: string,
  ): void;
  // deno-lint-ignore no-explicit-any
  type ErrorClass<E extends Error> = abstract new (...args: any[]) => E;
  export function assertThrows(fn: () => unknown, msg?: string): unknown;
  export function assertThrows<E extends Error>(
    fn: () => unknown,
    errorClass: ErrorClass<E>,
    msgIncludes?: string,
    msg?: string,
  ): E;
  export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
  export function assertRejects<E extends Error>(
    fn: () => PromiseLike<unknown>,
    errorClass: ErrorClass<E>,
    msgIncludes?: string,
    msg?: string,
  ): Promise<E>;
  export function fail(msg?: string): never;
  export function unreachable(msg?: string): never;
}

declare module "@std/cli" {
  export interface ParseOptions {
    boolean?: readonly string[];
    string?: readonly string[];
    collect?: readonly string[];
    negatable?: readonly string[];
    alias?: Readonly<Record<string, string | readonly string[]>>;
    default?: Readonly<Record<string, unknown>>;
    stopEarly?: boolean;
    "--"?: boolean;
    unknown?: (arg: string, key?: string, value?: unknown) => unknown;
  }
  export interface Args {
    _: (string | number)[];
    "--"?: string[];
    [flag: string]: unknown;
  }
  export function parseArgs(args: readonly string[], options?: ParseOptions): Args;
}

declare module "@std/csv" {
  export type Column = string | string[] | { header?: string; prop: string | string[] };
  export interface StringifyOptions {
    headers?: boolean;
    separator?: string;
    columns?: readonly Column[];
    bom?: boolean;
    quote?: boolean;
  }
  export function stringify(
    data: readonly (readonly unknown[] | Readonly<Record<string, unknown>>)[],
    options?: StringifyOptions,
  ): string;
  export function parse(input: string, options?: {
    skipFirstRow?: false;
    separator?: string;
    comment?: string;
    trimLeadingSpace?: boolean;
    lazyQuotes?: boolean;
    fieldsPerRecord?: number;
  }): string[][];
  export function parse(input: string, options: {
    skipFirstRow: true;
    separator?: string;
    columns?: readonly string[];
  }): Record<string, string>[];
  export class CsvStringifyStream<T>
    extends TransformStream<readonly unknown[] | Readonly<Record<string, unknown>>, string> {
    constructor(options?: { separator?: string; columns?: readonly string[] });
    /** Only there so that the type parameter is used. */
    readonly __row?: T;
  }
}

declare module "@std/streams" {
  export function toBytes(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>>;
  export function toText(stream: ReadableStream): Promise<string>;
  export class TextLineStream extends TransformStream<string, string> {
    constructor(options?: { allowCR?: boolean });
  }
  export class ByteSliceStream extends TransformStream<Uint8Array, Uint8Array> {
    constructor(start?: number, end?: number);
  }
  export function concatReadableStreams<T>(...streams: ReadableStream<T>[]): ReadableStream<T>;
}

declare module "@std/text" {
  export function levenshteinDistance(str1: string, str2: string): number;
}
