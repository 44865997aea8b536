import { partitionPoint } from "@perfdata/format/bytes";

import type { Address } from "../resolver/address.ts";
import type { JitCodeUnwindingInfo, JitLine, JitRecord } from "./jitdump.ts";

/** Call frame information of JIT-compiled code. */
export interface JitUnwinding {
  /** `.eh_frame` followed by `.eh_frame_hdr`. */
  readonly bytes: Uint8Array;
  /** Size of `.eh_frame_hdr` in bytes. */
  readonly hdrSize: number;
  /** Size of the code in bytes when it was compiled. */
  readonly codeSize: number;
}

/** JIT-compiled code at an address, from a time on. */
export interface JitCode {
  /** First address. */
  readonly start: Address;
  /** First address after the code. */
  readonly end: Address;
  /** Load time, in the file's clock. */
  readonly since: number;
  /** Name of the function. */
  readonly name: string;
  /** Number of the code in the file. */
  readonly codeIndex: bigint;
  /** Address at compile time, which its lines refer to. */
  readonly compiledAt: Address;
  /** Offset of the machine code in the file. */
  readonly codeOffset: number;
  /** Call frame information; `undefined` if the compiler wrote none. */
  readonly unwinding: JitUnwinding | undefined;
  /** Line table, sorted by address; empty if the compiler wrote none. */
  readonly lines: readonly JitLine[];
}

const NO_CODE: readonly JitCode[] = [];
/** Limit of the codes stored for one address. */
const MAX_VERSIONS = 64;

/**
 * The functions of a jitdump file by address and time. A JIT compiler reuses memory, so an address
 * can belong to different functions at different times.
 *
 * @example
 * ```ts
 * import { type JitRecord, JitSymbols } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const load = (name: string, timestamp: bigint, codeIndex: bigint): JitRecord => ({
 *   id: 0, offset: 0, totalSize: 0, timestamp, pid: 1, tid: 1, vma: 0x1000, codeAddr: 0x1000,
 *   codeSize: 64, codeIndex, name, codeOffset: 0,
 * });
 * const symbols = new JitSymbols([load("first", 10n, 0n), load("second", 20n, 1n)]);
 * assertEquals(symbols.lookup(0x1010, 15)?.name, "first");
 * assertEquals(symbols.lookup(0x1010, 25)?.name, "second");
 * assertEquals(symbols.lookup(0x1010, 5), undefined);
 * ```
 */
export class JitSymbols {
  /** All codes, in the order of the records. */
  readonly codes: readonly JitCode[];
  readonly #boundaries: Float64Array;
  /** The codes at each segment between two boundaries, oldest first. */
  readonly #versions: readonly (readonly JitCode[])[];

  /**
   * Collects the records of one file.
   *
   * @param records in the order of the file
   */
  constructor(records: Iterable<JitRecord>) {
    this.codes = collect(records);
    const { boundaries, versions } = cut(this.codes);
    this.#boundaries = boundaries;
    this.#versions = versions;
  }

  /** Whether memory was reused: some address belonged to several codes. */
  get isReused(): boolean {
    return this.#versions.some(({ length }) => length > 1);
  }

  /**
   * The code at an address.
   *
   * @param time nanoseconds of the recording's clock; by default the newest code is returned.
   * Beyond 2⁵³ ns (104 days of uptime) the nearest `number` is good enough
   */
  lookup(address: Address, time = Infinity): JitCode | undefined {
    return this.#codesAt(address)[this.version(address, time) - 1];
  }

  /**
   * The number of the code that was at an address at a time: 1 for the first code, 0 if the first
   * code was loaded later, -1 if there never was code.
   *
   * @param time in the file's clock; by default the newest code counts
   */
  version(address: Address, time = Infinity): number {
    const versions = this.#codesAt(address);
    let version = versions.length;
    if (version === 0) return -1;
    while (version > 0 && (versions[version - 1] as JitCode).since > time) version--;
    return version;
  }

  /** The code with a number returned by {@linkcode JitSymbols.version}; by default the newest. */
  ofVersion(address: Address, version?: number): JitCode | undefined {
    const versions = this.#codesAt(address);
    return versions[(version ?? versions.length) - 1];
  }

  /** Whether an address belonged to several codes over time. */
  isReusedAt(address: Address): boolean {
    return this.#codesAt(address).length > 1;
  }

  /** The codes at an address, oldest first. */
  #codesAt(address: Address): readonly JitCode[] {
    const boundaries = this.#boundaries;
    const after = partitionPoint(0, boundaries.length, (i) => (boundaries[i] ?? 0) <= address);
    return this.#versions[after - 1] ?? NO_CODE;
  }

  /** The source line of an address in `code`; `undefined` if the compiler wrote none. */
  line(code: JitCode, address: Address): JitLine | undefined {
    const wanted = address - code.start + code.compiledAt;
    const { lines } = code;
    return lines[partitionPoint(0, lines.length, (i) => (lines[i]?.address ?? 0) <= wanted) - 1];
  }
}

function collect(records: Iterable<JitRecord>): JitCode[] {
  const codes: JitCode[] = [];
  const byIndex = new Map<bigint, JitCode>();
  const pendingLines = new Map<Address, readonly JitLine[]>();
  let pendingTables: JitCodeUnwindingInfo | undefined;
  for (const record of records) {
    let code: JitCode | undefined;
    if (record.id === 2) {
      pendingLines.set(record.codeAddr, record.lines.toSorted((a, b) => a.address - b.address));
    } else if (record.id === 4) {
      pendingTables = record;
    } else if (record.id === 0) {
      code = {
        start: record.codeAddr,
        end: record.codeAddr + record.codeSize,
        since: Number(record.timestamp),
        name: record.name,
        codeIndex: record.codeIndex,
        compiledAt: record.codeAddr,
        codeOffset: record.codeOffset,
        unwinding: pendingTables && {
          bytes: pendingTables.unwindingData,
          hdrSize: pendingTables.ehFrameHdrSize,
          codeSize: record.codeSize,
        },
        lines: pendingLines.get(record.codeAddr) ?? [],
      };
      pendingTables = undefined;
      pendingLines.delete(record.codeAddr);
    } else if (record.id === 1) {
      const moved = byIndex.get(record.codeIndex);
      if (moved !== undefined) {
        code = {
          ...moved,
          start: record.newCodeAddr,
          end: record.newCodeAddr + record.codeSize,
          since: Number(record.timestamp),
        };
      }
    }
    if (code !== undefined) {
      byIndex.set(code.codeIndex, code);
      codes.push(code);
    }
  }
  return codes;
}

function cut(
  codes: readonly JitCode[],
): { boundaries: Float64Array; versions: (readonly JitCode[])[] } {
  const order = codes.map((_, i) => i);
  const age = codes.toSorted((a, b) => a.since - b.since);
  const rank = new Map(age.map((code, i) => [code, i]));
  const rankOf = (i: number): number => rank.get(codes[i] as JitCode) ?? 0;
  const starts = order.toSorted((a, b) => (codes[a]?.start ?? 0) - (codes[b]?.start ?? 0));
  const ends = order.toSorted((a, b) => (codes[a]?.end ?? 0) - (codes[b]?.end ?? 0));
  const boundaries: number[] = [];
  const versions: (readonly JitCode[])[] = [];
  /** Sorted ranks of the codes that cover the current address. */
  const active: number[] = [];
  const place = (wanted: number): number =>
    partitionPoint(0, active.length, (i) => (active[i] ?? 0) < wanted);
  let s = 0;
  let e = 0;
  while (s < starts.length || e < ends.length) {
    const start = codes[starts[s] ?? -1]?.start ?? Infinity;
    const end = codes[ends[e] ?? -1]?.end ?? Infinity;
    const at = Math.min(start, end);
    for (; e < ends.length && (codes[ends[e] ?? 0]?.end ?? 0) <= at; e++) {
      const i = ends[e] ?? 0;
      const code = codes[i];
      // Empty code never became active.
      if (code !== undefined && code.end > code.start) active.splice(place(rankOf(i)), 1);
    }
    for (; s < starts.length && (codes[starts[s] ?? 0]?.start ?? 0) <= at; s++) {
      const i = starts[s] ?? 0;
      const code = codes[i];
      if (code !== undefined && code.end > code.start) {
        active.splice(place(rankOf(i)), 0, rankOf(i));
      }
    }
    boundaries.push(at);
    versions.push(active.slice(-MAX_VERSIONS).flatMap((r) => age[r] ?? []));
  }
  return { boundaries: Float64Array.from(boundaries), versions };
}
