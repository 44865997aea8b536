/**
 * The profile of a recording, in columns: the source of tables, pictures and the formats of other
 * tools.
 *
 * @module
 */
export { ProfileBuilder } from "./collecting/profile_builder.ts";
export {
  profileColumns,
  type ProfileOptions,
  recordedProfile,
} from "./collecting/recorded_profile.ts";
export { SampleCollector } from "./collecting/sample_collector.ts";
export { type Profile, totals } from "./columns/profile.ts";
