/** `symbols table`: adds names to frames of tables. */
import { causesText, refusedLines } from "@perfdata/profile";
import { FRAMES, kernelReleases, nameFrames, type RowSink, unnamedFrames } from "@perfdata/tables";
import type { SymbolResolver } from "@perfdata/symbols";
import { aboutAsync, complain, complainAll, InputError, writeLine } from "./cli.ts";
import { resolverOf, type SymbolFlags } from "./symbol_flags.ts";
import { type TableFolder, tableFolder } from "@perfdata/perfdata/files";
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
  const tables = tableFolder(folder);
  if (tables === undefined || tables.paths("frames").length === 0) {
    throw new InputError(`${folder}: no tables: perfdata export parquet -o DIR writes them`);
  }
  using _ = { [Symbol.dispose]: tables.close };
  const frames = await aboutAsync(folder, () => unnamedFrames(tables.files("frames")));
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
    () => kernelReleases(tables.files("recordings")),
  );
  // Lookups by build id do not depend on the machine, but kernel files are named by release.
  const [first, ...others] = releases;
  const resolver = (release: string | undefined): Promise<SymbolResolver> =>
    resolverOf(flags, folder, { machine: { release }, parameters: false });
  const resolvers = [await resolver(first), ...await Promise.all(others.map(resolver))] as const;
  const parts = output === undefined ? partition(tables) : [];
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
function partition(tables: TableFolder): string[] {
  const [path = ""] = tables.paths("frames");
  return path.split("/").slice(1, -1).map((part) => `${part.split("=")[0]}=${NO_PARTITION}`);
}
