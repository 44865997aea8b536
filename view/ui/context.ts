import { FUNCTION_KIND } from "@perfdata/profile";
import type { OpenRecording, Store } from "./store.ts";
import type { ProfileFacts } from "../data/view_engine.ts";
import { percent } from "./format.ts";

/** Properties of each view. */
export interface ViewProps {
  readonly store: Store;
  readonly open: OpenRecording;
}

/** Properties of the views of a profile. */
export interface ProfileViewProps extends ViewProps {
  readonly facts: ProfileFacts;
}

export function unitOf({ store, facts }: ProfileViewProps): "nanoseconds" | "count" {
  const { weight, event } = store.state;
  return weight === "samples" ? "count" : facts.events[event]?.unit ?? "count";
}

/** Returns the name of the weight: `samples`, or the event. */
export function countedOf({ store, facts }: ProfileViewProps): string {
  const { weight, event } = store.state;
  return weight === "samples" ? "samples" : facts.events[event]?.name ?? "period";
}

/** Formats the share of samples of other events; `""` without such samples. */
export function otherEventsText({ totals }: Pick<ProfileFacts, "totals">, event: number): string {
  const all = totals.reduce((sum, { samples }) => sum + samples, 0);
  const others = all - (totals[event]?.samples ?? 0);
  return others === 0 ? "" : `${percent(others, all)} of samples are of other events`;
}

export function objectOf({ functions, objects }: ProfileFacts, fn: number): string {
  return objects[functions.object[fn] ?? -1]?.name ?? "";
}

/** Explanation of `[no stack]`. */
export const NO_STACK_TEXT =
  "neither an address nor callers are known of these samples; of time off the CPU, " +
  "no sample of the thread came before it";

export function nameOf({ functions }: ProfileFacts, fn: number): string {
  return functions.name[fn] ?? "[no stack]";
}

/** Returns the line of a function with the most samples, as `file:line`; `""` if unknown. */
export function lineOf({ functions, files }: ProfileFacts, fn: number): string {
  const path = files?.[functions.file?.[fn] ?? -1];
  return path === undefined ? "" : `${path}:${functions.line?.[fn]}`;
}

/** Returns the number of bins for a range of time: none is shorter than a slice in which samples were summed up, or than the time between two samples. */
export function binsOf(
  { duration, step, exactFrom = Infinity, intervals }: Pick<
    ProfileFacts,
    "duration" | "step" | "exactFrom" | "intervals"
  >,
  from: number,
  to: number,
  { room, event }: { readonly room: number; readonly event: number },
): number {
  const least = (from < exactFrom ? step : undefined) ?? intervals[event] ?? 0;
  if (least === 0 || duration === 0) return room;
  return Math.max(1, Math.min(room, Math.round((to - from) / least)));
}

export function isInlined({ functions }: ProfileFacts, fn: number): boolean {
  return ((functions.kind[fn] ?? 0) & FUNCTION_KIND.INLINED) !== 0;
}

/** Whether the name of a function comes from an unverified file. */
export function isUnverified({ functions }: ProfileFacts, fn: number): boolean {
  return ((functions.kind[fn] ?? 0) & FUNCTION_KIND.UNVERIFIED) !== 0;
}
