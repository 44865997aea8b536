import type { Profile } from "@perfdata/profile";
import type { FoldedOptions } from "./folded.ts";

/** The bytes of a file in chunks, which the receiver may keep. */
export type Chunks = Iterable<Uint8Array<ArrayBuffer>> | AsyncIterable<Uint8Array<ArrayBuffer>>;

/** Options of all formats. A format ignores those that it does not support. */
export interface FormatOptions extends FoldedOptions {
  /** Firefox: whether periods are durations of stacks, as from Intel PT. */
  readonly durations?: boolean;
}

/** A file format of other tools. {@linkcode FORMATS} has an entry for each. */
export interface ProfileFormat {
  /** The programs that read it. */
  readonly about: string;
  /** File name extension. */
  readonly extension: string;
  /** Whether it contains the time of each sample. */
  readonly timed?: boolean;
  /** Whether it contains addresses of unmapped code. */
  readonly unmapped?: boolean;
  /** Whether it distinguishes threads by default; default true. */
  readonly threads?: boolean;
  /** Loads the writer, and writes the file. pprof and Firefox profiles are compressed with gzip. */
  write(profile: Profile, options: FormatOptions): Promise<Chunks>;
}

/** Name of a file format of other tools. */
export type ExportFormat =
  | "folded"
  | "speedscope"
  | "pprof"
  | "otlp"
  | "firefox"
  | "chrome"
  | "perfetto"
  | "callgrind";

/**
 * All formats by name. Each is loaded on demand.
 *
 * @example
 * ```ts
 * import { FORMATS } from "@perfdata/export/tree";
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
      const { gzipped } = await import("./gzipped.ts");
      return gzipped((await import("./pprof.ts")).pprof(profile, { inline }));
    },
  },
  otlp: {
    about: "OpenTelemetry profiles, as a collector takes them",
    extension: "otlp",
    unmapped: true,
    write: async (profile, { inline = true }) =>
      (await import("./otlp.ts")).otlp(profile, { inline }),
  },
  firefox: {
    about: "for https://profiler.firefox.com",
    extension: "firefox.json.gz",
    timed: true,
    async write(profile, { inline = true, durations = false }) {
      const { gzipped } = await import("./gzipped.ts");
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

/** The format with a name; `undefined` if there is none. */
export function formatOf(name: string): ProfileFormat | undefined {
  return Object.hasOwn(FORMATS, name) ? FORMATS[name as ExportFormat] : undefined;
}
