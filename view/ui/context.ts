import { FUNCTION_KIND } from "@perfdata/profile/profile";
import type { OpenRecording, Store } from "./store.ts";
import type { ProfileFacts } from "../data/view_engine.ts";
import { percent } from "./format.ts";

/** Input of each view. */
export interface ViewProps {
  readonly store: Store;
  readonly open: OpenRecording;
}

/** What views of a profile are given. */
export interface ProfileViewProps extends ViewProps {
  readonly facts: ProfileFacts;
}

/** Unit of what is counted. */
export function unitOf({ store, facts }: ProfileViewProps): "nanoseconds" | "count" {
  const { weight, event } = store.state;
  return weight === "samples" ? "count" : facts.events[event]?.unit ?? "count";
}

/** What is counted: `samples`, or the event. */
export function countedOf({ store, facts }: ProfileViewProps): string {
  const { weight, event } = store.state;
  return weight === "samples" ? "samples" : facts.events[event]?.name ?? "period";
}

/** How many samples are of events that are not shown; `""` if there are none. */
export function otherEventsText({ totals }: Pick<ProfileFacts, "totals">, event: number): string {
  const all = totals.reduce((sum, { samples }) => sum + samples, 0);
  const others = all - (totals[event]?.samples ?? 0);
  return others === 0 ? "" : `${percent(others, all)} of samples are of other events`;
}

/** The short name of the object of a function. */
export function objectOf({ functions, objects }: ProfileFacts, fn: number): string {
  return objects[functions.object[fn] ?? -1]?.name ?? "";
}

/** What `[no stack]` stands for. */
export const NO_STACK_TEXT =
  "neither an address nor callers are known of these samples; of time off the CPU, " +
  "no sample of the thread came before it";

/** The name of a function, as far as one is known. */
export function nameOf({ functions }: ProfileFacts, fn: number): string {
  return functions.name[fn] ?? "[no stack]";
}

/** The line of a function that has most samples, as `file:line`; `""` if that is not known. */
export function lineOf({ functions, files }: ProfileFacts, fn: number): string {
  const path = files?.[functions.file?.[fn] ?? -1];
  return path === undefined ? "" : `${path}:${functions.line?.[fn]}`;
}

/** Most bins that times are worth: no more than slices that samples were summed up by. */
export function binsOf(
  { duration, step }: Pick<ProfileFacts, "duration" | "step">,
  from: number,
  to: number,
  room: number,
): number {
  if (step === undefined || duration === 0) return room;
  return Math.max(1, Math.min(room, Math.round((to - from) / step)));
}

/** Whether a function was inlined into its caller. */
export function isInlined({ functions }: ProfileFacts, fn: number): boolean {
  return ((functions.kind[fn] ?? 0) & FUNCTION_KIND.INLINED) !== 0;
}

/** Whether the name of a function comes from an unverified file. */
export function isUnverified({ functions }: ProfileFacts, fn: number): boolean {
  return ((functions.kind[fn] ?? 0) & FUNCTION_KIND.UNVERIFIED) !== 0;
}
