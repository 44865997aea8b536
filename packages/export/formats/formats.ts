import type { Profile } from "@perfdata/profile/profile";
import type { FoldedOptions } from "./folded.ts";

/** Bytes of a file, in chunks that belong to the caller. */
export type Chunks = Iterable<Uint8Array<ArrayBuffer>> | AsyncIterable<Uint8Array<ArrayBuffer>>;

/** How a file is written; what a format has no place for is ignored. */
export interface FormatOptions extends FoldedOptions {
  /** Firefox: whether periods are the times that stacks took, as of Intel PT. */
  readonly durations?: boolean;
}

/** A format that other tools open: an entry of {@linkcode FORMATS} is all that a new one takes. */
export interface ProfileFormat {
  /** The programs that read it. */
  readonly about: string;
  /** Ends the name of a file. */
  readonly extension: string;
  /** Whether it has the time of each sample. */
  readonly timed?: boolean;
  /** Whether it has the addresses of code that nothing is known of. */
  readonly unmapped?: boolean;
  /** Whether it has threads without being asked; by default it has. */
  readonly threads?: boolean;
  /** Loads what writes it, and writes; pprof and Firefox profiles are packed with gzip. */
  write(profile: Profile, options: FormatOptions): Promise<Chunks>;
}

/** The name of a format that other tools open. */
export type ExportFormat =
  | "folded"
  | "speedscope"
  | "pprof"
  | "firefox"
  | "chrome"
  | "perfetto"
  | "callgrind";

/**
 * All formats, by name. Each is loaded if it is asked for.
 *
 * @example
 * ```ts
 * import { FORMATS } from "@perfdata/export/formats";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(FORMATS.speedscope.extension, "speedscope.json");
 * ```
 */
export const FORMATS: Readonly<Record<ExportFormat, ProfileFormat>> = {
  folded: {
    about: "a line for each stack, for flame-graph scripts",
    extension: "folded",
    threads: false,
    write: async (profile, options) => (await import("./folded.ts")).folded(profile, options),
  },
  speedscope: {
    about: "for https://www.speedscope.app",
    extension: "speedscope.json",
    timed: true,
    write: async (profile, { inline = true }) =>
      (await import("./speedscope.ts")).speedscope(profile, { inline }),
  },
  pprof: {
    about: "for go tool pprof, and others that read its files",
    extension: "pb.gz",
    unmapped: true,
    async write(profile, { inline = true }) {
      const { gzipped } = await import("./byte_text.ts");
      return gzipped((await import("./pprof.ts")).pprof(profile, { inline }));
    },
  },
  firefox: {
    about: "for https://profiler.firefox.com",
    extension: "firefox.json.gz",
    timed: true,
    async write(profile, { inline = true, durations = false }) {
      const { gzipped } = await import("./byte_text.ts");
      return gzipped((await import("./firefox.ts")).firefox(profile, { inline, durations }));
    },
  },
  chrome: {
    about: "trace events, for https://ui.perfetto.dev",
    extension: "trace.json",
    timed: true,
    write: async (profile, { inline = true }) =>
      (await import("./chrome.ts")).chrome(profile, { inline }),
  },
  perfetto: {
    about: "Perfetto's own format, for https://ui.perfetto.dev",
    extension: "pftrace",
    timed: true,
    write: async (profile, { inline = true }) =>
      (await import("./perfetto.ts")).perfetto(profile, { inline }),
  },
  callgrind: {
    about: "for KCachegrind and callgrind_annotate",
    extension: "callgrind.out",
    threads: false,
    write: async (profile, { inline = true }) =>
      (await import("./callgrind.ts")).callgrind(profile, { inline }),
  },
};

/** A format by its name; `undefined` if there is none of that name. */
export function formatOf(name: string): ProfileFormat | undefined {
  return Object.hasOwn(FORMATS, name) ? FORMATS[name as ExportFormat] : undefined;
}
