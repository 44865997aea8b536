/**
 * Collects the samples of a recording for a profile, and tells recordings and other profiles apart.
 *
 * @module
 */
export { inputKind, type InputOfKind } from "../input_kind.ts";
export type { ReadyInput } from "../ready_profile.ts";
export { type ProfileHost, type ReadingHost, samplesProfile } from "../samples_profile.ts";
