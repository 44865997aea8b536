/** Finds the tables in a directory. */

/** Names of the tables in a directory; empty if it has neither `recordings` nor `weights`. */
export function tableFolders(path: string): string[] {
  try {
    const folders = Array.from(Deno.readDirSync(path)).filter(({ isDirectory }) => isDirectory)
      .map(({ name }) => name);
    return folders.includes("recordings") || folders.includes("weights") ? folders : [];
  } catch {
    return [];
  }
}

/** Parquet files below a directory, in all partitions, sorted by name. */
export function parquetPaths(folder: string): string[] {
  let entries: Deno.DirEntry[];
  try {
    entries = Array.from(Deno.readDirSync(folder)).sort((a, b) => a.name < b.name ? -1 : 1);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
  return entries.flatMap(({ name, isDirectory }) =>
    isDirectory
      ? parquetPaths(`${folder}/${name}`)
      : name.endsWith(".parquet")
      ? [`${folder}/${name}`]
      : []
  );
}
