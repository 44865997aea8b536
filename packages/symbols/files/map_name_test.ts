import { assertEquals } from "@std/assert";
import { type MapKind, mapKind } from "./map_name.ts";

Deno.test("mapKind: recorded names of mappings give their kinds", () => {
  const cases: Record<string, MapKind> = {
    "/usr/lib/libc.so.6": "file",
    "/memfd:doublemapper (deleted)": "file",
    "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko": "module",
    "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz": "module",
    "[ext4]": "module",
    "[snd-hda-intel]": "module",
    "[vdso]": "vdso",
    "[vdso32]": "vdso",
    "[vsyscall]": "vsyscall",
    "[kernel.kallsyms]": "kernel",
    "[kernel.kallsyms]_text": "kernel",
    "[guest.kernel.kallsyms]": "guest-kernel",
    "[guest.kernel.kallsyms.4711]_text": "guest-kernel",
    "bpf_prog_6deef7357e7b4530_sys_enter": "bpf",
    "bpf_trampoline_6442487186": "bpf",
    "//anon": "anonymous",
    "/dev/zero (deleted)": "anonymous",
    "/anon_hugepage (deleted)": "anonymous",
    "/SYSV00000000 (deleted)": "anonymous",
    "/tmp/perf-4711.map": "anonymous",
    "[heap]": "anonymous",
    "[stack]": "anonymous",
    "[stack:123]": "anonymous",
    "[anon:v8]": "anonymous",
    "": "anonymous",
  };
  for (const [name, kind] of Object.entries(cases)) assertEquals(mapKind(name), kind, name);
});
