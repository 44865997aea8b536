/**
 * The numbers and names of perf's own record types, which `@perfdata/format` declares.
 *
 * @module
 */
export { USER_RECORD_NAMES } from "@perfdata/format/record-names";
export * from "@perfdata/format/record-types";
