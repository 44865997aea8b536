/** What the tests of this package have in common. */

/** The files that there are: fixtures, and the corpus where it is. */
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
