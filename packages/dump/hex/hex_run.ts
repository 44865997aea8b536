/** The sections that {@link HexOptions.section} may name. */
export const HEX_SECTIONS = ["header", "attrs", "ids", "data", "features", "aux"] as const;

/** Which bytes of a file are reported. */
export interface HexOptions {
  /** Only what touches the bytes from here on. */
  readonly from?: number;
  /** Only what touches the bytes before here. */
  readonly to?: number;
  /** Only this section. */
  readonly section?: typeof HEX_SECTIONS[number];
  /** Only the record with this number, counted from 0 in file order. */
  readonly record?: number;
  /** Only records of these types, by name without `PERF_RECORD_`. */
  readonly types?: ReadonlySet<string>;
  /** Whether the records inside of COMPRESSED ones follow them. */
  readonly inflate?: boolean;
}

/** A run of bytes that belongs to one thing. */
export interface HexRun {
  /** Offset of the first byte in the file; in the inflated stream where `inflated` is set. */
  readonly offset: number;
  /** How many bytes there are. */
  readonly size: number;
  /**
   * The bytes; valid until the next run is asked for. `undefined` for what a damaged stream had
   * and nobody kept.
   */
  readonly bytes: Uint8Array | undefined;
  /** The structure that the run is part of: `header`, `attrs[0]`, `data[17] SAMPLE`. */
  readonly owner: string;
  /** The field in it: `.callchain[2]`; empty where the run is all there is. */
  readonly field: string;
  /** Depth of the field in the structure. */
  readonly depth: number;
  /** The field's type as C would write it. */
  readonly type: string;
  /** The field's value as text, where the bytes are not all there is to say. */
  readonly value: string | undefined;
  /** What is wrong here. */
  readonly problems: readonly string[];
  /** Set where the bytes are not in the file but came out of a COMPRESSED record. */
  readonly inflated: boolean;
}

/** Bytes of a run that are handed out at once: a longer one comes in parts. */
export const PART = 1 << 16;

/** Largest section or payload that is read into memory to be taken apart. */
export const MAX_STRUCTURE = 1 << 28;
/** The parts of runs that lie in a region. */
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
