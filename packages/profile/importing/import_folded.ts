import { type ByteSource, PerfDataError } from "@perfdata/format/bytes";
import { ProfileBuilder } from "../collecting/profile_builder.ts";
import { CollectedRows } from "../collecting/collected_rows.ts";
import { FUNCTION_KIND, type Profile } from "../columns/profile.ts";
import { ImportedTrust, type ImportOptions, isChosen } from "./imported.ts";
import { eachLine } from "./each_line.ts";

/** Marks of functions, as `stackcollapse-perf.pl` and `export folded` write them. */
const MARKS: Readonly<Record<string, number>> = {
  "_[k]": FUNCTION_KIND.KERNEL,
  "_[j]": FUNCTION_KIND.JIT,
  "_[i]": FUNCTION_KIND.INLINED,
};

/** A command with its process and thread: `comm-7/8`. */
const ROOT = /^(.*)-(\d{1,10}|\?)\/(\d{1,10}|\?)$/;

/**
 * Imports folded stacks: lines such as `comm;outer;inner 12`. The first frame of a line is its command.
 *
 * @throws {PerfDataError} If a line does not end with a number, with the number of the line.
 */
export async function importFolded(source: ByteSource, options: ImportOptions): Promise<Profile> {
  const builder = new ProfileBuilder({
    events: [{ name: "samples", unit: "count" }],
    title: options.title,
  });
  const rows = new CollectedRows(builder, false);
  const trust = new ImportedTrust();
  const places = new Map<string, number>();
  await eachLine(source, (line, number) => {
    if (line.trim() === "") return;
    const end = line.trimEnd().lastIndexOf(" ");
    const value = line.slice(end + 1).trim();
    if (end <= 0 || !/^\d+(?:\.\d+)?$/.test(value)) {
      throw new PerfDataError(`line ${number}: no number at its end, expected frames and a number`);
    }
    const [root = "", ...frames] = line.slice(0, end).split(";");
    const [, comm = root, pid = "?", tid = "?"] = ROOT.exec(root) ?? [];
    const [process, thread] = [pid, tid].map((text) => text === "?" ? -1 : Number(text)) as [
      number,
      number,
    ];
    if (!isChosen(options, process, thread, -1)) return;
    let stack = -1;
    for (const frame of frames) {
      let place = places.get(frame);
      if (place === undefined) {
        const kind = MARKS[frame.slice(-4)];
        const name = kind === undefined ? frame : frame.slice(0, -4);
        places.set(frame, place = builder.place(-1, places.size, [{ name, kind }]));
      }
      stack = builder.stack(stack, place);
    }
    const period = Number(value);
    const count = Math.round(period);
    trust.add(count, frames.length > 0, frames.length > 1);
    rows.add({
      ...{ stack, count, period, event: 0 },
      thread: builder.thread(process, thread, comm),
    });
  }, options.progress);
  rows.finish();
  return {
    ...builder.profile(),
    trust: trust.text("folded stacks: the first frame is the command, and numbers are samples", [
      "without objects, times and source lines",
    ]),
  };
}
