/** Source files of annotated functions. */
import type { SourceTexts } from "@perfdata/export/code";
import { type BundledFile, bundledText } from "@perfdata/symbols";
import { openBundle } from "@perfdata/symbols/files";

/** Reads and caches source files. */
export class Sources implements SourceTexts {
  readonly #folder: string | undefined;
  readonly #bundle: string | undefined;
  readonly #texts = new Map<string, string | undefined>();
  readonly #lines = new Map<string, readonly string[]>();
  #bundled: readonly BundledFile[] | undefined;

  /**
   * @param folder A folder in which files are looked up by trailing parts of their paths.
   * @param bundle A symbol bundle with source text, used after the folder.
   */
  constructor(folder: string | undefined, bundle?: string) {
    this.#folder = folder;
    this.#bundle = bundle;
  }

  /** The paths of files that could not be read. */
  absent(): string[] {
    return [...this.#texts].filter(([, text]) => text === undefined).map(([path]) => path);
  }

  /** The lines of a file; `undefined` if it cannot be read. */
  lines(path: string): readonly string[] | undefined {
    const text = this.text(path);
    if (text === undefined) return undefined;
    let lines = this.#lines.get(path);
    if (lines === undefined) {
      // Expand tabs: the writer of lines escapes control characters.
      this.#lines.set(path, lines = text.replaceAll("\t", "        ").split(/\r?\n/));
    }
    return lines;
  }

  /** The text of a file; `undefined` if it cannot be read. */
  text(path: string): string | undefined {
    if (!this.#texts.has(path)) {
      const found = this.#folder === undefined
        ? this.#inBundle(path) ?? this.#read(path)
        : this.#read(path) ?? this.#inBundle(path);
      this.#texts.set(path, found);
    }
    return this.#texts.get(path);
  }

  #inBundle(path: string): string | undefined {
    if (this.#bundle === undefined) return undefined;
    this.#bundled ??= openBundle(this.#bundle).code;
    return bundledText(this.#bundled, path);
  }

  #read(path: string): string | undefined {
    const parts = path.split("/").filter((part) => part !== "" && part !== ".");
    const places = this.#folder === undefined
      ? [path]
      : parts.map((_, i) => `${this.#folder}/${parts.slice(i).join("/")}`);
    for (const place of places) {
      try {
        return Deno.readTextFileSync(place);
      } catch {
        // Try the next path. Without any, lines have no text.
      }
    }
    return undefined;
  }
}
