/**
 * The profile of a recording, in columns: what tables, pictures and the formats of other tools are
 * made from.
 *
 * @module
 */
export * from "./columns/columns.ts";
export * from "./columns/node_table.ts";
export * from "./columns/profile.ts";
export * from "./columns/thread_table.ts";
export * from "./collecting/profile_builder.ts";
export * from "./collecting/pt_profile.ts";
export * from "./collecting/recorded_profile.ts";
export * from "./views/filter_profile.ts";
export * from "./views/frame_stacks.ts";
export * from "./views/group_samples.ts";
export * from "./views/state_frames.ts";
