/**
 * The corpus: real files from public repositories, which are not in this one.
 *
 * `PERFDATA_CORPUS` names its directory; the default is `../shared/corpus` next to the repository.
 */

/** A row of the corpus' `INDEX.tsv`. */
export interface CorpusFile {
  /** Path in the corpus, also used in test names. */
  readonly name: string;
  /** Path on disk. */
  readonly path: string;
  /** All columns by their header. */
  readonly row: Readonly<Record<string, string>>;
  /** Whether the file is undamaged. */
  readonly sound: boolean;
}

const root = new URL("../../", import.meta.url).pathname;

/** The corpus' directory, which may be missing. */
export const corpusFolder: string = Deno.env.get("PERFDATA_CORPUS") ?? `${root}../shared/corpus`;

/**
 * The perf.data files of the corpus. If the corpus is missing, the list is empty and one line says
 * so.
 */
export function corpusFiles(): CorpusFile[] {
  let index: string;
  try {
    index = Deno.readTextFileSync(`${corpusFolder}/INDEX.tsv`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.log(`ignored: no corpus at ${corpusFolder} (set PERFDATA_CORPUS to its folder)`);
    return [];
  }
  const [head = "", ...lines] = index.trimEnd().split("\n");
  const columns = head.split("\t");
  return lines
    .map((line) => {
      const cells = line.split("\t");
      return Object.fromEntries(columns.map((column, i) => [column, cells[i] ?? ""]));
    })
    .filter((row) => row["kind"]?.startsWith("PERF"))
    .map((row) => {
      const name = row["path"] ?? "";
      return {
        name,
        path: `${corpusFolder}/${name}`,
        row,
        sound: row["damage"] === "" && !row["kind"]?.includes("fuzz"),
      };
    });
}
