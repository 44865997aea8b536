/**
 * Sample program of a user of the package `perfdata`. Runs in Deno and Node, from the sources and
 * from the tarballs.
 */
import { open } from "@perfdata/perfdata";

/** Everything in a recording that the package answers as text. */
export async function front(path: string | URL): Promise<string> {
  using recording = await open(path);
  const lines: string[] = [];
  for (const { samples, dso, sym } of await recording.functions()) {
    lines.push(`${samples} ${dso} ${sym}`);
  }
  for await (const { time, comm, stack } of recording.samples()) {
    lines.push(`${time} ${comm} ${stack.map(({ name }) => name).join(";")}`);
  }
  for await (const chunk of recording.exportAs("folded")) {
    lines.push(new TextDecoder().decode(chunk));
  }
  return lines.join("\n");
}
