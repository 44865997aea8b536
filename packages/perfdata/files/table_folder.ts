import type { TableFile } from "@perfdata/tables";
import type { TableFiles } from "../ready_profile.ts";
import { type FilePath, nodeFs, pathIn } from "./node_fs.ts";
import { type PathSource, pathSource } from "./path_source.ts";

/** A directory of tables, as `perfdata export parquet` writes it. */
export interface TableFolder extends TableFiles {
  /** The paths of a table's files in the directory, in all partitions, sorted by name. */
  paths(table: string): string[];
  /** Closes the files. */
  close(): void;
}

/**
 * The tables in a directory; `undefined` if it has none.
 *
 * @throws {TypeError} In a browser.
 *
 * @example
 * ```ts
 * import { tableFolder } from "@perfdata/perfdata/files";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(tableFolder("fixtures/recorded"), undefined);
 * ```
 */
export function tableFolder(path: FilePath): TableFolder | undefined {
  const isTable = (name: string): boolean => isFolder(pathIn(path, name));
  // Sums of many recordings have weights in place of recordings.
  if (!isTable("recordings") && !isTable("weights")) return undefined;
  const opened: PathSource[] = [];
  const paths = (table: string): string[] =>
    isTable(table) ? [...parquetPaths(pathIn(path, table), `${table}/`)] : [];
  return {
    paths,
    files: (table) =>
      paths(table).map((name): TableFile => {
        const source = pathSource(pathIn(path, name));
        opened.push(source);
        return {
          name,
          byteLength: source.size,
          slice(start, end = source.size) {
            const bytes = new Uint8Array(end - start);
            return bytes.buffer.slice(0, source.readAt(bytes, start));
          },
        };
      }),
    close() {
      for (const source of opened.splice(0)) source.close();
    },
  };
}

function* parquetPaths(folder: FilePath, before: string): Generator<string, void, void> {
  for (const name of nodeFs().readdirSync(folder).sort()) {
    const path = pathIn(folder, name);
    if (isFolder(path)) yield* parquetPaths(path, `${before}${name}/`);
    else if (name.endsWith(".parquet")) yield before + name;
  }
}

/** Whether a path is a directory. Links are not followed, so that no directory is its own part. */
function isFolder(path: FilePath): boolean {
  try {
    return nodeFs().lstatSync(path).isDirectory();
  } catch (error) {
    if (error instanceof TypeError) throw error;
    // It does not exist, or cannot be read.
    return false;
  }
}
