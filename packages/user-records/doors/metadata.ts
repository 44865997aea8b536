/**
 * Records with the contents of a file's header, and with descriptions of events, CPUs and clocks.
 *
 * @module
 */
export { HEADER_ATTR, type HeaderAttr } from "../header/header_attr.ts";
export { HEADER_BUILD_ID, type HeaderBuildId } from "../header/header_build_id.ts";
export { HEADER_FEATURE, type HeaderFeature } from "../header/header_feature.ts";
export { HEADER_TRACING_DATA, type HeaderTracingData } from "../header/header_tracing_data.ts";
export {
  CPU_MAP,
  CPU_MAP_DATA_FIELDS,
  type CpuMap,
  type CpuMapData,
  cpuMapData,
  cpusOf,
  PERF_CPU_MAP__CPUS,
  PERF_CPU_MAP__MASK,
  PERF_CPU_MAP__RANGE_CPUS,
} from "../stat/cpu_map.ts";
export {
  EVENT_UPDATE,
  type EventUpdate,
  PERF_EVENT_UPDATE__CPUS,
  PERF_EVENT_UPDATE__NAME,
  PERF_EVENT_UPDATE__SCALE,
  PERF_EVENT_UPDATE__UNIT,
} from "../stat/event_update.ts";
export { TIME_CONV, type TimeConv } from "../stat/time_conv.ts";
