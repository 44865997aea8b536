import { type Codec, doc, headerString } from "../struct/mod.ts";

export const hostname: Codec<string> = doc(
  "Node name of the recorded machine, as `uname -n` prints it.",
  headerString,
);
export const osrelease: Codec<string> = doc(
  "Release of the running kernel, as `uname -r` prints it.",
  headerString,
);
export const version: Codec<string> = doc(
  "Version of the perf tool that wrote the file, which may differ from the kernel's.",
  headerString,
);
export const arch: Codec<string> = doc(
  "Hardware name as `uname -m` prints it: `x86_64`, `aarch64`. It determines the meaning of registers.",
  headerString,
);
export const cpudesc: Codec<string> = doc(
  "Marketing name of the CPU, from the line of `/proc/cpuinfo` for the architecture.",
  headerString,
);
export const cpuid: Codec<string> = doc(
  "CPU identification that selects event tables: `vendor,family,model,stepping` on x86, MIDR on ARM.",
  headerString,
);
