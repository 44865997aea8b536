// As engine_calls.ts: a page that shows `info()` loads no code of rates and counters.
export { recordingInfo } from "@perfdata/report/figures";
