/** The table of remedies: what to do for each reason of an address without a function. */
import type { ObjectTrust, SymbolTrust } from "@perfdata/session";
import { UNRESOLVED_CAUSES, type UnresolvedCause } from "@perfdata/symbols/resolver";

/** Remedy for callers at unmapped addresses. */
const CALLERS = "record callers with --call-graph dwarf, or build with -fno-omit-frame-pointer";

/** The command that downloads files by build id. */
export const FETCH = "perfdata symbols fetch";

type Remedy = (of: Pick<ObjectTrust, "object">, runtime?: string) => string;

const fetchOr = (otherwise: string): Remedy => ({ object }) =>
  object?.buildId !== undefined && object.kind !== "jit" && object.kind !== "bpf"
    ? FETCH
    : otherwise;

const REMEDIES: Readonly<Record<UnresolvedCause, Remedy>> = {
  "file missing": (of) =>
    of.object?.guest !== undefined && of.object.buildId === undefined
      ? of.object.kind === "kernel"
        ? "--guest-kallsyms FILE, a copy of /proc/kallsyms of the guest"
        : "--guestmount DIR with the files of the guest"
      : fetchOr("perfdata symbols bundle where it was recorded, or --symfs DIR")(of),
  "build id differs": fetchOr("--symfs DIR with the files that were recorded"),
  "no symbols": fetchOr("install its debug symbols (-dbg, -dbgsym, -debuginfo)"),
  "not readable": () => "perfdata symbols trust says what is wrong with the file",
  "kallsyms restricted": () => "record as root, or give --vmlinux FILE",
  "JIT": ({ object }, runtime) =>
    object?.kind === "bpf"
      ? "record as root, so that programs of BPF are described"
      : runtime ?? "write /tmp/perf-PID.map, or a jitdump and perf record -k mono",
  "unmapped": () => CALLERS,
};

/** Runtimes with JIT compilers by file name, with their way to write a perf map. */
const RUNTIMES: readonly (readonly [files: readonly string[], remedy: string])[] = [
  [["libjvm.so"], "write /tmp/perf-PID.map (java -XX:+DumpPerfMapAtExit)"],
  [["node", "libnode.so"], "write /tmp/perf-PID.map (node --perf-basic-prof)"],
  [["python3", "libpython3"], "write /tmp/perf-PID.map (python3 -X perf)"],
  [["libcoreclr.so"], "write /tmp/perf-PID.map (DOTNET_PerfMapEnabled=1)"],
];

/**
 * The way in which the runtimes among a recording's objects write perf maps; `undefined` if none is
 * known.
 */
export function mapsOf(objects: readonly Pick<ObjectTrust, "object">[]): string | undefined {
  const names = objects.map(({ object }) =>
    object?.path.slice(object.path.lastIndexOf("/") + 1) ?? ""
  );
  // A version may follow: python3.12, libnode.so.108.
  const isOf = (name: string, file: string) => name === file || name.startsWith(`${file}.`);
  const found = RUNTIMES.filter(([files]) =>
    files.some((file) => names.some((name) => isOf(name, file)))
  ).map(([, remedy]) => remedy);
  return found.length === 0 ? undefined : found.join(", or ");
}

/**
 * The remedy for most of an object's addresses without a function; `undefined` if all have one.
 *
 * @param maps The way in which its runtimes write perf maps: {@linkcode mapsOf} of all objects.
 */
export function remedyOf(
  of: Pick<ObjectTrust, "object" | "unresolved">,
  maps?: string,
): string | undefined {
  let most: UnresolvedCause | undefined;
  let least = [0, 0];
  for (const cause of UNRESOLVED_CAUSES) {
    const { samples = 0, addresses = 0 } = of.unresolved.get(cause) ?? {};
    const [s = 0, a = 0] = least;
    if (samples < s || (samples === s && addresses <= a)) continue;
    [most, least] = [cause, [samples, addresses]];
  }
  return most === undefined ? undefined : REMEDIES[most](of, maps);
}

/** A remedy with its objects, and their samples and addresses. */
export interface Remedied {
  /** The remedy. */
  readonly remedy: string;
  /** The objects, by descending samples. */
  readonly objects: readonly ObjectTrust[];
  /** Samples without a function in these objects. */
  readonly samples: number;
  /** Addresses without a function in these objects. */
  readonly addresses: number;
}

/** The remedies, by descending samples. */
export function remediesOf({ objects }: Pick<SymbolTrust, "objects">): Remedied[] {
  const maps = mapsOf(objects);
  const found = new Map<string, ObjectTrust[]>();
  for (const object of objects) {
    const remedy = remedyOf(object, maps);
    if (remedy === undefined) continue;
    const helped = found.get(remedy);
    if (helped === undefined) found.set(remedy, [object]);
    else helped.push(object);
  }
  const sum = (all: readonly ObjectTrust[], of: "samples" | "addresses") =>
    all.reduce((sum, { all, resolved }) => sum + all[of] - resolved[of], 0);
  return [...found].map(([remedy, all]) => ({
    remedy,
    objects: all,
    samples: sum(all, "samples"),
    addresses: sum(all, "addresses"),
  })).sort((a, b) => b.samples - a.samples || b.addresses - a.addresses);
}

/** The best remedies for a profile, as the end of its line of trust: for names, and for callers. */
export function remedyText(trust: SymbolTrust, callersLost = false): string {
  const [first] = remediesOf(trust);
  // If all samples have names, only callers lack them.
  const isNamed = trust.all.samples > 0 && trust.resolved.samples === trust.all.samples;
  const remedies = first === undefined || (isNamed && first.remedy === FETCH) ? [] : [first.remedy];
  if (callersLost && !remedies.includes(CALLERS)) remedies.push(CALLERS);
  return remedies.length === 0 ? "" : `; what helps most: ${remedies.join("; ")}`;
}
