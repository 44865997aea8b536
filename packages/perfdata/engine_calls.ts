// Bundlers keep all of a package that is imported dynamically; of this module they keep these names.
export { runEngine, sampleSpan } from "@perfdata/session";
