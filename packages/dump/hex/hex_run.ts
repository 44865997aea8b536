/** The values of {@link HexOptions.section}. */
export const HEX_SECTIONS = ["header", "attrs", "ids", "data", "features", "aux"] as const;

/** Selection of the bytes. */
export interface HexOptions {
  /** First byte. */
  readonly from?: number;
  /** Byte after the last. */
  readonly to?: number;
  /** Only this section. */
  readonly section?: typeof HEX_SECTIONS[number];
  /** Only the record with this number, from 0 in file order. */
  readonly record?: number;
  /** Only records of these types, named without `PERF_RECORD_`. */
  readonly types?: ReadonlySet<string>;
  /** Whether the records in COMPRESSED records follow them. */
  readonly inflate?: boolean;
}

/** A run of bytes that belong to one field. */
export interface HexRun {
  /** Offset of the first byte in the file; with `inflated`, in the inflated stream. */
  readonly offset: number;
  /** Number of bytes. */
  readonly size: number;
  /**
   * The bytes, valid until the next run. `undefined` for bytes of a damaged stream, which were not
   * stored.
   */
  readonly bytes: Uint8Array | undefined;
  /** Name of the structure: `header`, `attrs[0]`, `data[17] SAMPLE`. */
  readonly owner: string;
  /**
   * Path of the field in the structure: `.callchain[2]`; empty if the run is the whole structure.
   */
  readonly field: string;
  /** Depth of the field in the structure. */
  readonly depth: number;
  /** C type of the field. */
  readonly type: string;
  /** Value of the field as text, unless the bytes say it all. */
  readonly value: string | undefined;
  /** Errors in these bytes. */
  readonly problems: readonly string[];
  /** Whether the bytes come from a COMPRESSED record. */
  readonly inflated: boolean;
}

/** Limit of the bytes in a run. A longer run is split. */
export const PART = 1 << 16;

/** Largest section or payload that is read into memory to be split. */
export const MAX_STRUCTURE = 1 << 28;
/** Restricts runs to a region. */
export function* clip(
  runs: Iterable<HexRun>,
  from: number,
  to: number,
): Generator<HexRun, void, void> {
  for (const run of runs) {
    const start = Math.max(run.offset, from);
    const end = Math.min(run.offset + run.size, to);
    if (run.size === 0 || (start === run.offset && end === run.offset + run.size)) {
      yield run;
    } else if (end > start) {
      const bytes = run.bytes?.subarray(start - run.offset, end - run.offset);
      yield { ...run, offset: start, size: end - start, bytes };
    }
  }
}
