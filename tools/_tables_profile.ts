/** Tables of recordings, as `export parquet` wrote them, read as one recording. */
import { zstdDecompressSync } from "node:zlib";
import { fileSource } from "@perfdata/format/file-source";
import { filterProfile } from "@perfdata/profile/filter-profile";
import type { TableFile } from "@perfdata/tables";
import { profileOfTables } from "@perfdata/tables/tables-profile";
import { complain, type Flags, InputError, parseNumbers, UsageError } from "./_cli.ts";
import { type ReadProfile, titleOf } from "./_profile.ts";
import { nameFilters, type SAMPLE_FLAGS } from "./_sample_flags.ts";
import { parquetPaths, tableFolders } from "./_table_folders.ts";

/**
 * Reads the profile of a directory of tables.
 *
 * @throws {InputError} Where no sample is left.
 */
export async function readTablesProfile(
  tool: string,
  folder: string,
  { value }: Flags<string, typeof SAMPLE_FLAGS.string[number]>,
  options: { readonly timed?: boolean },
): Promise<ReadProfile> {
  if (value.time !== undefined) {
    throw new UsageError("--time is not for tables; perfdata sql chooses rows by ts");
  }
  const numbers = (flag: "pid" | "tid" | "cpu") =>
    value[flag] === undefined ? undefined : parseNumbers(flag, value[flag]);
  const filter = { pids: numbers("pid"), tids: numbers("tid"), cpus: numbers("cpu") };
  const isFiltered = Object.values(filter).some((numbers) => numbers !== undefined);
  if (isFiltered && tableFolders(folder).includes("weights")) {
    throw new UsageError("weights have no processes, threads and CPUs to choose by");
  }
  using open = new OpenFiles(folder);
  const all = await profileOfTables({
    files: (table) => open.of(table),
    decompress: (bytes) => new Uint8Array(zstdDecompressSync(bytes)),
    title: titleOf(folder.replace(/\/+$/, "")),
    timed: options.timed === true,
    filter,
  });
  const profile = filterProfile(all, nameFilters({ on: {}, value } as never));
  if (profile.samples.length === 0) throw new InputError(`${folder}: no samples`);
  complain(`${tool}: ${folder}: ${profile.trust}`);
  return { profile, isWhole: true, isPt: false };
}

/** Files of tables that are open. */
class OpenFiles implements Disposable {
  readonly #folder: string;
  readonly #sources: Disposable[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The files of a table, in whatever partition, in the order of their names. */
  of(table: string): TableFile[] {
    const files: TableFile[] = [];
    for (const path of parquetPaths(`${this.#folder}/${table}`)) {
      const source = fileSource(path);
      this.#sources.push(source);
      files.push({
        name: path.slice(this.#folder.length + 1),
        byteLength: source.size,
        slice(start, end = source.size) {
          const bytes = new Uint8Array(end - start);
          return bytes.buffer.slice(0, source.readAt(bytes, start));
        },
      });
    }
    return files;
  }

  [Symbol.dispose](): void {
    for (const source of this.#sources) source[Symbol.dispose]();
  }
}
