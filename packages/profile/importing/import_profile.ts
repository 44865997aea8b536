import type { ByteSource } from "@perfdata/format/bytes";
import { type FileKind, fileKind } from "@perfdata/format/constants";
import type { Profile } from "../columns/profile.ts";
import type { ImportOptions } from "./imported.ts";

export type { ImportOptions };

/** Kinds of profiles of other tools that can be imported. */
export type ImportedKind = Extract<FileKind, "perf script" | "folded" | "pprof" | "cpuprofile">;

type Importer = (source: ByteSource, options: ImportOptions) => Promise<Profile>;

/** All importers, each loaded on demand. */
const IMPORTERS: Readonly<Record<ImportedKind, () => Promise<Importer>>> = {
  "perf script": async () => (await import("./import_perf_script.ts")).importPerfScript,
  folded: async () => (await import("./import_folded.ts")).importFolded,
  pprof: async () => (await import("./import_pprof.ts")).importPprof,
  cpuprofile: async () => (await import("./import_cpuprofile.ts")).importCpuprofile,
};

/** Number of bytes that {@linkcode importedKind} needs: several lines of deep stacks. */
export const IMPORTED_KIND_BYTES: number = 1 << 16;

/**
 * The kind of another tool's profile; `undefined` for other files.
 *
 * @param start Its first {@linkcode IMPORTED_KIND_BYTES} bytes, uncompressed.
 */
export function importedKind(start: Uint8Array): ImportedKind | undefined {
  const kind = fileKind(start);
  return kind !== undefined && Object.hasOwn(IMPORTERS, kind) ? kind as ImportedKind : undefined;
}

/**
 * Imports a profile of another tool: text of `perf script`, folded stacks, pprof, or a
 * `.cpuprofile`.
 *
 * @param source The whole input, uncompressed.
 * @throws {PerfDataError} If it is damaged, with the line or the offset.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/format";
 * import { importedKind, importProfile } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = new TextEncoder().encode("demo;main;work 3\ndemo;main 2\n");
 * const kind = importedKind(bytes);
 * assertEquals(kind, "folded");
 * const profile = await importProfile("folded", bytesSource(bytes), { title: "demo.folded" });
 * assertEquals(profile.functions.name, ["main", "work"]);
 * ```
 */
export async function importProfile(
  kind: ImportedKind,
  source: ByteSource,
  options: ImportOptions,
): Promise<Profile> {
  const importer = await IMPORTERS[kind]();
  return await importer(source, options);
}
