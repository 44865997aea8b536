import { buildIdText, type Feature } from "@perfdata/format/features";
import { featureName } from "@perfdata/format/constants";

function domainLines(feature: Extract<Feature, { name: "CPU_DOMAIN_INFO" }>): string[] {
  const { schedstat_version, max_sched_domains, cpus } = feature.value;
  return [
    `# schedstat version : ${schedstat_version}`,
    `# maximum sched domains : ${max_sched_domains}`,
    ...cpus.flatMap(({ cpu, domains }) =>
      domains.map(({ domain, dname, cpulist }) =>
        `# CPU ${cpu}: domain ${domain}${dname === undefined ? "" : ` (${dname})`}: CPUs ${cpulist}`
      )
    ),
  ];
}

/**
 * The lines for features that `perf report --header-only -I` of perf 6.1 omits: build ids,
 * tracepoint formats, features of later perfs, of simpleperf and of hiperf, and unreadable
 * features.
 */
export function moreFeatureLines(feature: Feature): string[] {
  switch (feature.name) {
    case "TRACING_DATA": {
      const { version, bigendian, long_size, page_size, systems } = feature.value;
      const formats = systems.map(({ name, formats }) => `${name} (${formats.length})`);
      return [
        `# tracing data : version ${version}, ${
          bigendian === 0 ? "little" : "big"
        }-endian, long ${long_size}, page ${page_size}`,
        `# tracepoint formats : ${formats.join(", ")}`,
      ];
    }
    case "BUILD_ID":
      return feature.value.map((event) => `# build id : ${buildIdText(event)} ${event.filename}`);
    case "CPU_DOMAIN_INFO":
      return domainLines(feature);
    case "E_MACHINE":
      return [
        `# e_machine : ${feature.value.e_machine}, e_flags : 0x${
          feature.value.e_flags.toString(16)
        }`,
      ];
    case "CLN_SIZE":
      return [`# cacheline size : ${feature.value}`];
    case "SP_FILE":
      return feature.value.map(({ path, symbols }) =>
        `# simpleperf file : ${path}, ${symbols.length} symbols`
      );
    case "SP_FILE2":
      return [`# simpleperf files : ${feature.value.length}`];
    case "SP_META_INFO":
      return feature.value.map(({ key, value }) =>
        `# simpleperf ${key} : ${value.replaceAll("\n", ", ")}`
      );
    case "HI_FILES_SYMBOL":
      return feature.value.files.map(({ path, symbols }) =>
        `# hiperf file : ${path}, ${symbols.length} symbols`
      );
    case "HI_WORKLOAD_CMD":
      return [`# hiperf command : ${feature.value}`];
    case "HI_RECORD_TIME":
      return [`# hiperf record time : ${feature.value}`];
    case "RAW":
      return [
        `# ${featureName(feature.id)} : ${
          feature.error === undefined
            ? `${feature.raw.length} bytes`
            : `not readable: ${feature.error.located()}`
        }`,
      ];
    default:
      return [];
  }
}
