/**
 * The name that perf shows for a binary: the last part of its path, a module in brackets, code of a
 * JIT compiler by its process (`dso__set_basename` and `__kmod_path__parse` of
 * tools/perf/util/dso.c).
 *
 * @param name The path, or the name in brackets.
 * @param kernel Whether the binary belongs to the kernel.
 *
 * @example
 * ```ts
 * import { shortName } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(shortName({ name: "/usr/lib/libc.so.6", kernel: false }), "libc.so.6");
 * assertEquals(shortName({ name: "/lib/modules/6.1/snd-seq.ko.xz", kernel: true }), "[snd_seq]");
 * assertEquals(shortName({ name: "ext4.ko.zst", kernel: true }), "[ext4]");
 * assertEquals(shortName({ name: "/tmp/perf-7.map", kernel: false }), "[JIT] tid 7");
 * ```
 */
export function shortName({ name, kernel }: { name: string; kernel: boolean }): string {
  const last = name.slice(name.lastIndexOf("/") + 1);
  // machine__process_kernel_mmap_event of tools/perf/util/machine.c
  if (kernel && name.includes("vmlinux")) return "[kernel.vmlinux]";
  const jit = /^perf-(\d+)\.map$/.exec(last)?.[1];
  if (jit !== undefined) return `[JIT] tid ${jit}`;
  const module = kernel ? /^(.+)\.ko(\.(gz|xz|zst))?$/.exec(last)?.[1] : undefined;
  return module === undefined ? last : `[${module.replaceAll("-", "_")}]`;
}

/**
 * The name of a kernel's mapping without the reference symbol at its end.
 *
 * @example
 * ```ts
 * import { withoutReferenceSymbol } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(withoutReferenceSymbol("[kernel.kallsyms]_text"), "[kernel.kallsyms]");
 * assertEquals(withoutReferenceSymbol("/boot/vmlinux"), "/boot/vmlinux");
 * ```
 */
export function withoutReferenceSymbol(name: string): string {
  return name.startsWith("[") ? name.slice(0, name.indexOf("]") + 1) || name : name;
}
