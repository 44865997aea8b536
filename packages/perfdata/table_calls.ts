// As engine_calls.ts: the names of the tables package that are loaded on demand.
export { profileOfTables } from "@perfdata/tables";
