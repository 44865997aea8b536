/** The kind of a mapped object. */
export type MapKind =
  /** A file. */
  | "file"
  /** The virtual dynamic shared object: `[vdso]`, `[vdso32]`, `[vdsox32]`. */
  | "vdso"
  /** `[vsyscall]`. */
  | "vsyscall"
  /** The kernel: `[kernel.kallsyms]`, followed by the name of the reference symbol. */
  | "kernel"
  /** The kernel of a guest. */
  | "guest-kernel"
  /** A kernel module: `[name]`, or a file `….ko`, which may be compressed. */
  | "module"
  /** A BPF program, trampoline or dispatcher. */
  | "bpf"
  /** Memory without a file. Its code is JIT-compiled (`perf-PID.map`). */
  | "anonymous";

/**
 * The process id in the name `/tmp/perf-PID.map`, a map of JIT-compiled code; `undefined` for other
 * names.
 *
 * @example
 * ```ts
 * import { perfMapPid } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(perfMapPid("/tmp/perf-7.map"), 7);
 * assertEquals(perfMapPid("/tmp/perf.map"), undefined);
 * ```
 */
export function perfMapPid(name: string): number | undefined {
  const pid = /^\/tmp\/perf-(\d+)\.map$/.exec(name)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/**
 * The kind of a mapping, by its name and perf's rules (tools/perf/util/map.c, vdso.c, machine.c and
 * bpf-event.c).
 *
 * @example
 * ```ts
 * import { mapKind } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(mapKind("[kernel.kallsyms]_text"), "kernel");
 * assertEquals(mapKind("//anon"), "anonymous");
 * assertEquals(mapKind("/usr/bin/ls"), "file");
 * assertEquals(mapKind("[ext4]"), "module");
 * ```
 */
export function mapKind(name: string): MapKind {
  if (name.startsWith("/")) {
    if (/\.ko(\.(gz|xz|zst))?$/.test(name)) return "module";
    const anonymous = name === "//anon" || name.startsWith("/dev/zero") ||
      name.startsWith("/anon_hugepage") || name.startsWith("/SYSV") ||
      perfMapPid(name) !== undefined;
    return anonymous ? "anonymous" : "file";
  }
  if (name === "[vdso]" || name === "[vdso32]" || name === "[vdsox32]") return "vdso";
  if (name === "[vsyscall]") return "vsyscall";
  if (name.startsWith("[kernel.kallsyms") || name === "[kernel]") return "kernel";
  if (name.startsWith("[guest.kernel.kallsyms") || name === "[guest.kernel]") {
    return "guest-kernel";
  }
  if (
    name.startsWith("bpf_prog_") || name.startsWith("bpf_trampoline_") ||
    name.startsWith("bpf_dispatcher_")
  ) return "bpf";
  if (name === "" || name === "anon" || name.startsWith("[stack") || name === "[heap]") {
    return "anonymous";
  }
  if (name.startsWith("[anon")) return "anonymous";
  if (/^\[[\w-]+\]$/.test(name)) return "module";
  return "file";
}

/** Path on this machine of a file in the mount namespace of a process that still runs: see proc(5), `/proc/pid/root`. */
export function containerPath(pid: number, path: string): string {
  return `/proc/${pid}/root${path}`;
}
