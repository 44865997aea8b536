/** Profiles of other tools: a part that is loaded if one is dropped. */
import { EventLoopTurns } from "@perfdata/format/bytes";
import {
  type ImportedKind,
  importProfile,
  type ProfileWeight,
  shownEvents,
} from "@perfdata/profile";
import { type ViewProfile, viewProfile } from "@perfdata/export/tree";
import { ProgressSteps } from "../recording/progress_steps.ts";
import type { ProgressState } from "../worker/protocol.ts";
import { type Dropped, HELD_MS } from "./dropped_files.ts";
import { readAhead } from "./read_ahead.ts";

/** Reads the profile of another tool. */
export async function importedOf(
  { name, recording }: Dropped,
  kind: ImportedKind,
  weight: ProfileWeight,
  progress: (state: ProgressState) => void,
): Promise<ViewProfile> {
  if (weight !== "period") throw new Error(`${name} is a profile of another tool: only samples`);
  const source = new EventLoopTurns(undefined, HELD_MS).source(readAhead(recording));
  const steps = new ProgressSteps(progress);
  const profile = await importProfile(kind, source, {
    title: name,
    timed: true,
    progress: (bytes) => steps.read("Reading the samples", bytes, source.size, 0),
  });
  if (profile.samples.length === 0) throw new Error(`${name}: no samples`);
  return viewProfile(shownEvents(profile));
}
