/** `symbols table`: adds names to frames of tables. */
import { causesText, refusedLines } from "@perfdata/profile";
import { FRAMES, kernelReleases, nameFrames, type RowSink, unnamedFrames } from "@perfdata/tables";
import type { SymbolResolver } from "@perfdata/symbols";
import { aboutAsync, complain, complainAll, InputError, writeLine } from "./cli.ts";
import { resolverOf, type SymbolFlags } from "./symbol_flags.ts";
import { decompress, OpenTables } from "./table_files.ts";
import { parquetPaths, tableFolders } from "./table_folders.ts";
import { NewTable, PARQUET } from "./written_tables.ts";

/** The partition value that SQL engines read as null. */
const NO_PARTITION = "__HIVE_DEFAULT_PARTITION__";

export interface TableOptions {
  readonly flags: SymbolFlags;
  /** The output directory; by default that of the tables. */
  readonly output: string | undefined;
  /** Whether a file may be replaced. */
  readonly force: boolean;
}

/**
 * Looks up frames that have a build id and no name, and writes their names as a further file of
 * `frames`.
 *
 * @throws {InputError} If there are no tables.
 */
export async function symbolsTable(folder: string, options: TableOptions): Promise<number> {
  const { flags, output, force } = options;
  if (!tableFolders(folder).includes("frames")) {
    throw new InputError(`${folder}: no tables: perfdata export parquet -o DIR writes them`);
  }
  using open = new OpenTables(folder);
  const frames = await aboutAsync(folder, () => unnamedFrames(open.of("frames"), decompress));
  const out = (what: number, why: string) => {
    if (what > 0) complain(`symbols: ${folder}: ${what} frames ${why}`);
  };
  out(frames.withoutBuildId, "have no build id, and no name: export --names names them");
  out(frames.foreign, "have ids that do not follow from build id and offset, and were left out");
  if (frames.count === 0) {
    writeLine(`${frames.named} frames have names; none is left that has a build id`);
    return 0;
  }
  const releases = await aboutAsync(
    folder,
    () => kernelReleases(open.of("recordings"), decompress),
  );
  // Lookups by build id do not depend on the machine, but kernel files are named by release.
  const [first, ...others] = releases;
  const resolver = (release: string | undefined): Promise<SymbolResolver> =>
    resolverOf(flags, folder, { machine: { release }, parameters: false });
  const resolvers = [await resolver(first), ...await Promise.all(others.map(resolver))] as const;
  const parts = output === undefined ? partition(`${folder}/frames`) : [];
  const path = [output ?? folder, "frames", ...parts, `names-${frames.id}`].join("/");
  let file: NewTable | undefined;
  const rows: RowSink = {
    rows(count, columns): void {
      if (count > 0) {
        (file ??= new NewTable(path, FRAMES, PARQUET, force)).rows.rows(count, columns);
      }
    },
  };
  try {
    const named = await nameFrames(frames, resolvers, rows);
    complainAll("symbols", refusedLines(named.trust));
    const causes = causesText(named.trust);
    if (causes !== "") {
      complain(
        `symbols: ${folder}: ${
          frames.count - named.frames
        } of ${frames.count} frames have no name: ` +
          causes,
      );
    }
    if (file === undefined) {
      writeLine("no name was found");
      return 0;
    }
    file.rows.finish();
    file.commit();
    writeLine(`${path}.parquet: ${named.frames} of ${frames.count} frames have names`);
    return 0;
  } finally {
    file?.[Symbol.dispose]();
  }
}

/** Directories for a file outside all partitions, as deep as those of the other files. */
function partition(folder: string): string[] {
  const [path = ""] = parquetPaths(folder);
  return path.slice(folder.length + 1).split("/").slice(0, -1).map((part) =>
    `${part.split("=")[0]}=${NO_PARTITION}`
  );
}
