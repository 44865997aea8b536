// As engine_calls.ts: the names of the profile package that are loaded on demand.
export {
  IMPORTED_KIND_BYTES,
  importedKind,
  importProfile,
  SampleCollector,
  shownEvents,
} from "@perfdata/profile";
