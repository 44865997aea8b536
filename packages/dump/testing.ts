/** Helpers of this package's tests. */
import { PerfDataReader } from "@perfdata/format/records";
import { fileSource } from "@perfdata/format/files";

/** The existing recordings: fixtures, and the corpus if it is installed. */
export async function recordings(): Promise<string[]> {
  const found: string[] = [];
  for (const folder of ["fixtures/recorded", "fixtures/synthesized"]) {
    for await (const { name, isFile } of Deno.readDir(folder)) {
      if (isFile && name.endsWith(".data")) found.push(`${folder}/${name}`);
    }
  }
  const corpus = Deno.env.get("PERFDATA_CORPUS") ?? "../shared/corpus";
  try {
    for (const row of (await Deno.readTextFile(`${corpus}/INDEX.tsv`)).split("\n").slice(1)) {
      const [path, , , kind] = row.split("\t");
      if (kind?.startsWith("PERF")) found.push(`${corpus}/${path}`);
    }
  } catch {
    console.log(`no corpus at ${corpus}: fixtures only`);
  }
  return found;
}

/** Opens a recording; `undefined` if its headers are unreadable. */
export async function open(path: string): Promise<PerfDataReader | undefined> {
  try {
    return await PerfDataReader.open(fileSource(path), { diagnostics: () => {} });
  } catch {
    return undefined;
  }
}

/** Collects text, each byte as a character. */
export class Latin {
  text = "";
  readonly #decoder = new TextDecoder("latin1");
  readonly write = (bytes: Uint8Array): void => void (this.text += this.#decoder.decode(bytes));
}
