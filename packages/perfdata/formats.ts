import type { Profile } from "@perfdata/profile/profile";

/** A format that other tools open; pprof and Firefox profiles are packed with gzip. */
export type ExportFormat =
  | "folded"
  | "speedscope"
  | "pprof"
  | "firefox"
  | "chrome"
  | "perfetto"
  | "callgrind";

type Chunks = Iterable<Uint8Array<ArrayBuffer>> | AsyncIterable<Uint8Array<ArrayBuffer>>;

/** How a format is written. Each is loaded where it is asked for: a page has those that it uses. */
interface Format {
  /** Whether it has the time of each sample. */
  readonly isTimed: boolean;
  write(profile: Profile): Promise<Chunks>;
}

const FORMATS: Readonly<Record<ExportFormat, Format>> = {
  folded: {
    isTimed: false,
    write: async (profile) => (await import("@perfdata/export/folded")).folded(profile),
  },
  speedscope: {
    isTimed: true,
    write: async (profile) => (await import("@perfdata/export/speedscope")).speedscope(profile),
  },
  pprof: {
    isTimed: false,
    async write(profile) {
      const { gzipped } = await import("@perfdata/export/byte-text");
      return gzipped((await import("@perfdata/export/pprof")).pprof(profile));
    },
  },
  firefox: {
    isTimed: true,
    async write(profile) {
      const { gzipped } = await import("@perfdata/export/byte-text");
      return gzipped((await import("@perfdata/export/firefox")).firefox(profile));
    },
  },
  chrome: {
    isTimed: true,
    write: async (profile) => (await import("@perfdata/export/chrome")).chrome(profile),
  },
  perfetto: {
    isTimed: true,
    write: async (profile) => (await import("@perfdata/export/perfetto")).perfetto(profile),
  },
  callgrind: {
    isTimed: false,
    write: async (profile) => (await import("@perfdata/export/callgrind")).callgrind(profile),
  },
};

/**
 * How a format is written.
 *
 * @throws {RangeError} Where there is no such format.
 */
export function formatOf(name: string): Format {
  if (Object.hasOwn(FORMATS, name)) return FORMATS[name as ExportFormat];
  throw new RangeError(
    `exportAs: ${JSON.stringify(name)}; formats: ${Object.keys(FORMATS).join(", ")}`,
  );
}
