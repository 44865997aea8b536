/** Opens table files. */
import { zstdDecompressSync } from "node:zlib";
import { fileSource } from "@perfdata/format/files";
import type { TableFile } from "@perfdata/tables";
import { parquetPaths } from "./table_folders.ts";

export function decompress(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(zstdDecompressSync(bytes));
}

/** The open table files of a directory. */
export class OpenTables implements Disposable {
  readonly #folder: string;
  readonly #sources: Disposable[] = [];

  /** @param folder The directory of the tables. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The files of a table in all partitions, sorted by name. */
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
