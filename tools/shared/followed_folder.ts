/** The recordings that `perf record --switch-output` finishes, one after the other. */

/** Milliseconds between two checks for new files. */
const LOOK = 250;

/** Name of a finished file: perf adds the time to it. The file that perf writes has none yet. */
const FINISHED = /\.\d{14,}$/;

/**
 * Yields the path of each finished recording in a folder once, oldest first: those that are there,
 * and later ones when they are finished. Ends when the signal is aborted.
 *
 * @throws {Deno.errors.NotFound | Deno.errors.NotADirectory} If the folder cannot be read.
 */
export async function* finishedFiles(
  folder: string,
  signal?: AbortSignal,
): AsyncGenerator<string, void, void> {
  let last = "";
  while (signal?.aborted !== true) {
    const names = Array.from(Deno.readDirSync(folder), ({ name }) => name)
      .filter((name) => FINISHED.test(name) && timeOf(name) > last)
      .sort((a, b) => timeOf(a) < timeOf(b) ? -1 : 1);
    for (const name of names) {
      last = timeOf(name);
      yield `${folder}/${name}`;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK));
  }
}

function timeOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
