import { byteAt, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import {
  type FrameStacks,
  frameStacks,
  FUNCTION_KIND,
  functionName,
  type Profile,
} from "@perfdata/profile";
import { oneFunctionEach } from "../tree/one_function.ts";

/** A table of the profile's shared part, or its list of strings. */
export interface FirefoxTable {
  /** Its name. */
  readonly name: string;
  /** Number of rows. */
  readonly length: number;
  /** Value of each column by row, or the strings. */
  readonly columns:
    | Readonly<Record<string, (row: number) => number | boolean | null>>
    | readonly string[];
}

/** The tables that threads of a Firefox profile share. */
export interface FirefoxTables {
  /** Stacks: rows of `stackTable`. */
  readonly stacks: FrameStacks;
  /** The tables. */
  readonly shared: readonly FirefoxTable[];
  /** The libraries. */
  readonly libs: readonly Readonly<Record<string, string | null>>[];
}

const no = () => null;
/** Names of markers: the first strings. */
const MARKERS = ["Off CPU", "PTWRITE"] as const;
/** Indices of these names. */
export const MARKER = { OFF_CPU: 0, PTWRITE: 1 } as const;

/** Makes the shared tables: a frame is a function at a line and an address. */
export function firefoxTables(apart: Profile, inline: boolean): FirefoxTables {
  const profile = oneFunctionEach(apart);
  const { files, frames, functions, objects } = profile;
  const strings: string[] = apart.writes === undefined ? [MARKERS[0]] : [...MARKERS];
  const numbers = new Map<string, number>(strings.map((name, number) => [name, number]));
  const string = (text: string): number => {
    let number = numbers.get(text);
    if (number === undefined) numbers.set(text, number = strings.push(text) - 1);
    return number;
  };
  const stacks = frameStacks(profile, { by: "frame", inline });
  const addresses = frameAddresses(profile);
  const names = functions.name.map((_, number) => string(functionName(profile, number)));
  const libNames = objects.map(({ name }) => string(name));
  const paths = files.map(string);
  const level = (number: number) => byteAt(functions.kind, number) & FUNCTION_KIND.LEVEL;
  const functionOf = (frame: number) => intAt(frames.function, frame);
  const fileOf = new Int32Array(names.length).fill(-1);
  for (let frame = 0; frame < frames.function.length; frame++) {
    const number = functionOf(frame);
    if (fileOf[number] === -1) fileOf[number] = intAt(frames.file, frame);
  }
  const table = (
    name: string,
    length: number,
    columns: FirefoxTable["columns"],
  ): FirefoxTable => ({ name, length, columns });
  return {
    stacks,
    libs: objects.map(library),
    shared: [
      table("stackTable", stacks.item.length, {
        frame: (row) => intAt(stacks.item, row),
        prefix: (row) => {
          const parent = intAt(stacks.parent, row);
          return parent < 0 ? null : parent;
        },
      }),
      table("frameTable", frames.function.length, {
        address: (row) => floatAt(addresses, row),
        inlineDepth: (row) =>
          byteAt(apart.functions.kind, intAt(apart.frames.function, row)) >> 2 & 1,
        category: (row) => level(functionOf(row)),
        subcategory: () => 0,
        func: functionOf,
        nativeSymbol: no,
        innerWindowID: no,
        line: (row) => intAt(frames.line, row) > 0 ? intAt(frames.line, row) : null,
        column: no,
      }),
      table("funcTable", names.length, {
        name: (row) => numberAt(names, row),
        isJS: () => false,
        relevantForJS: () => false,
        resource: (row) => intAt(functions.object, row),
        source: (row) => {
          const file = intAt(fileOf, row);
          return file < 0 ? null : file;
        },
        lineNumber: no,
        columnNumber: no,
      }),
      table("resourceTable", objects.length, {
        lib: (row) => row,
        name: (row) => numberAt(libNames, row),
        host: no,
        type: () => 1,
      }),
      table("nativeSymbols", 0, { libIndex: no, address: no, name: no, functionSize: no }),
      table("sources", files.length, { uuid: no, filename: (row) => numberAt(paths, row) }),
      table("stringArray", strings.length, strings),
    ],
  };
}

/** The lowest address of each frame in its library, which the viewer shows; -1 if there is none. */
function frameAddresses({ frames, places }: Profile): Float64Array {
  const found = new Float64Array(frames.function.length).fill(-1);
  for (let place = 0; place < places.object.length; place++) {
    const address = floatAt(places.address, place);
    if (intAt(places.object, place) < 0 || address < 0 || address > 0xffffffff) continue;
    for (let i = intAt(places.start, place); i < intAt(places.start, place + 1); i++) {
      const frame = intAt(places.frames, i);
      if (found[frame] === -1 || address < floatAt(found, frame)) found[frame] = address;
    }
  }
  return found;
}

function library({ name, path, buildId }: Profile["objects"][number]) {
  return {
    arch: "",
    name,
    path,
    debugName: name,
    debugPath: path,
    breakpadId: buildId === undefined ? "" : breakpadId(buildId),
    codeId: buildId ?? null,
  };
}

/**
 * A build id in Breakpad's format: the first 16 bytes as a little-endian GUID, and the age 0.
 *
 * @example
 * ```ts
 * import { breakpadId } from "@perfdata/export";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(breakpadId("00112233445566778899aabbccddeeff"), "33221100554477668899AABBCCDDEEFF0");
 * ```
 */
export function breakpadId(buildId: string): string {
  const bytes = (buildId.match(/../g) ?? []).slice(0, 16);
  while (bytes.length < 16) bytes.push("00");
  const order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
  return order.map((at) => bytes[at]).join("").toUpperCase() + "0";
}
