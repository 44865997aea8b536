/** A function line by line, in the browser in the terminal. */
import { annotate } from "@perfdata/export/annotate";
import { pickSamples } from "@perfdata/profile/filter-profile";
import { functionName, type Profile, totals } from "@perfdata/profile/profile";
import { rowsIn, rowTest } from "../view/data/selection.ts";
import type { Shown, ViewEngine } from "../view/data/view_engine.ts";
import type { TextPage } from "../view/terminal/browser.ts";
import { sourceLines, Sources } from "./_source_lines.ts";

/** What a page is made of. */
export interface AnnotatedSource {
  /** The profile, whose samples are those of the engine, row by row. */
  readonly profile: Profile;
  readonly engine: ViewEngine;
  /** Where source files are. */
  readonly folder: string | undefined;
}

/** The function, of the samples that are selected. */
export function annotatedPage(
  { profile, engine, folder }: AnnotatedSource,
  fn: number,
  shown: Shown,
): TextPage {
  const selected = selectedProfile(profile, engine, shown);
  const name = profile.functions.name[fn] ?? "";
  const object = profile.objects[profile.functions.object[fn] ?? -1]?.name ?? "[unknown]";
  const [found] = annotate(selected, shown.event, (other) => other !== "" && other === name)
    .filter((one) => one.object === object);
  if (found === undefined) {
    throw new Error(`nothing names the code of ${functionName(profile, fn)}`);
  }
  const whole = totals(selected)[shown.event]?.period ?? 0;
  const event = profile.events[shown.event]?.name ?? "";
  const [title = [], ...lines] = sourceLines(found, {
    event,
    whole,
    sources: new Sources(folder),
    context: 5,
  });
  return { title: title.map(({ text }) => text).join(""), lines, hot: hottest(lines) };
}

/** The profile with the samples that are selected. */
function selectedProfile(profile: Profile, engine: ViewEngine, shown: Shown): Profile {
  const [first, last] = rowsIn(engine.profile, shown);
  const isSelected = rowTest(engine.profile, shown);
  const rows: number[] = [];
  for (let row = first; row < last; row++) if (isSelected(row)) rows.push(row);
  return { ...profile, samples: pickSamples(profile.samples, Int32Array.from(rows)) };
}

/** The line with the largest share of its own. */
function hottest(lines: TextPage["lines"]): number {
  let [best, most] = [0, -1];
  for (const [i, [self]] of lines.entries()) {
    const share = parseFloat(self?.text ?? "");
    if (share > most) [best, most] = [i, share];
  }
  return best;
}
