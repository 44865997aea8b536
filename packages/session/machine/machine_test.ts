import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type AnyRecord, KERNEL_RECORDS, RecordCodec } from "@perfdata/format/records";
import { Machine } from "./machine.ts";

const codec = new RecordCodec(KERNEL_RECORDS);

const KERNEL = 1;
const USER = 2;
const PAGE = 0x1000n;

function apply(machine: Machine, record: AnyRecord<typeof KERNEL_RECORDS[number]>): void {
  const bytes = codec.encode(record);
  machine.apply(bytes, new DataView(bytes.buffer), 0, bytes.length);
}

function mmap(
  machine: Machine,
  pid: number,
  addr: bigint,
  len: bigint,
  filename: string,
  misc = USER,
): void {
  const body = { pid, tid: pid, addr, len, pgoff: 0n, filename };
  apply(machine, { type: 1, name: "MMAP", misc, body });
}

function comm(machine: Machine, pid: number, tid: number, name: string): void {
  apply(machine, { type: 3, name: "COMM", misc: 0, body: { pid, tid, comm: name } });
}

function fork(machine: Machine, pid: number, tid: number, ppid: number, misc = 0): void {
  const body = { pid, ppid, tid, ptid: ppid, time: 0n };
  apply(machine, { type: 7, name: "FORK", misc, body });
}

function at(machine: Machine, pid: number, tid: number, addr: bigint, mode = USER): string {
  const thread = machine.thread(pid, tid);
  const map = machine.map(thread, mode, Number(addr >> 32n), Number(addr & 0xffff_ffffn));
  return map < 0 ? "-" : machine.names.text(machine.mapName(map));
}

Deno.test("Machine: a map over an older one leaves the parts that it does not cover", () => {
  const machine = new Machine();
  mmap(machine, 7, 0x1000n, 0x5000n, "/old");
  mmap(machine, 7, 0x2000n, 0x1000n, "/new");
  const seen = [0xfffn, 0x1000n, 0x1fffn, 0x2000n, 0x2fffn, 0x3000n, 0x5fffn, 0x6000n];
  assertEquals(seen.map((addr) => at(machine, 7, 7, addr)), [
    "-",
    "/old",
    "/old",
    "/new",
    "/new",
    "/old",
    "/old",
    "-",
  ]);
});

Deno.test("Machine: the part of a map behind a newer map has a higher file offset", () => {
  const machine = new Machine();
  mmap(machine, 7, 0xffff_f000n, 0x5000n, "/old");
  mmap(machine, 7, 0x1_0000_0000n, 0x1000n, "/new");
  const thread = machine.thread(7, 7);
  const map = machine.map(thread, USER, 1, 0x1000);
  assertEquals(
    [machine.spaces.startHi[map], machine.spaces.startLo[map], machine.spaces.pgoffLo[map]],
    [1, 0x1000, 0x2000],
  );
});

Deno.test("Machine: a forked process copies its parent's maps, a new thread shares those of its process", () => {
  const machine = new Machine();
  comm(machine, 7, 7, "parent");
  mmap(machine, 7, 0x1000n, 0x1000n, "/parent");
  fork(machine, 8, 8, 7);
  fork(machine, 7, 9, 7);
  mmap(machine, 8, 0x1000n, 0x1000n, "/child");
  mmap(machine, 7, 0x4000n, 0x1000n, "/later");
  assertEquals(machine.commText(machine.thread(8, 8)), "parent");
  assertEquals(at(machine, 8, 8, 0x1000n), "/child");
  assertEquals(at(machine, 7, 7, 0x1000n), "/parent");
  assertEquals(at(machine, 7, 9, 0x4000n), "/later");
  assertEquals(at(machine, 8, 8, 0x4000n), "-");
});

Deno.test("Machine: a pid that is used again has neither maps nor name of the old process", () => {
  const machine = new Machine();
  mmap(machine, 8, 0x1000n, 0x1000n, "/first");
  comm(machine, 8, 8, "first");
  apply(machine, {
    type: 4,
    name: "EXIT",
    misc: 0,
    body: { pid: 8, ppid: 7, tid: 8, ptid: 7, time: 0n },
  });
  assertEquals(at(machine, 8, 8, 0x1000n), "/first", "its last samples may come after the EXIT");
  fork(machine, 8, 8, 7);
  assertEquals(at(machine, 8, 8, 0x1000n), "-");
  assertEquals(machine.commText(machine.thread(8, 8)), ":8");
});

Deno.test("Machine: a FORK with a wrong parent sets wrongParent", () => {
  const machine = new Machine();
  comm(machine, 5, 6, "thread");
  fork(machine, 8, 8, 6);
  assertEquals(machine.wrongParent, { pid: 5, tid: 6 });
});

Deno.test("Machine: anonymous memory has the name of the process's perf map", () => {
  const machine = new Machine();
  mmap(machine, 7, 0x1000n, 0x1000n, "//anon");
  mmap(machine, 7, 0x3000n, 0x1000n, "[vdso]");
  assertEquals(at(machine, 7, 7, 0x1000n), "/tmp/perf-7.map");
  assertEquals(at(machine, 7, 7, 0x3000n), "[vdso]");
});

Deno.test("Machine: memory that .NET maps twice has the name of the perf map, other memfds keep theirs", () => {
  const machine = new Machine();
  mmap(machine, 7, 0x1000n, 0x1000n, "/memfd:doublemapper (deleted)");
  mmap(machine, 7, 0x2000n, 0x1000n, "/memfd:other (deleted)");
  assertEquals(at(machine, 7, 7, 0x1000n), "/tmp/perf-7.map");
  assertEquals(at(machine, 7, 7, 0x2000n), "/memfd:other (deleted)");
});

Deno.test("Machine: addresses of the kernel, modules and BPF symbols have their maps", () => {
  const machine = new Machine();
  machine.setKnownBinaries([
    { filename: "/boot/vmlinux", misc: KERNEL },
    { filename: "/lib/modules/1/ext4.ko.xz", misc: KERNEL },
  ]);
  const text = 0xffff_ffff_8100_0000n;
  const module = 0xffff_ffff_c000_0000n;
  mmap(machine, -1, text, 0x100_0000n, "[kernel.kallsyms]_text", KERNEL);
  mmap(machine, -1, module, 0x2000n, "[ext4]", KERNEL);
  mmap(machine, -1, module + 0x2000n, 0x2000n, "/lib/x-y.ko", KERNEL);
  assertEquals(at(machine, 7, 7, text + 5n, KERNEL), "/boot/vmlinux");
  assertEquals(at(machine, 7, 7, module, KERNEL), "/lib/modules/1/ext4.ko.xz");
  assertEquals(at(machine, 7, 7, module + 0x2000n, KERNEL), "/lib/x-y.ko");
  assertEquals(at(machine, 7, 7, text, USER), "-");
  const program = 0xffff_ffff_a000_0000n;
  const symbol = { addr: program, len: 64, ksym_type: 1, flags: 0, name: "bpf_prog_1" };
  apply(machine, { type: 17, name: "KSYMBOL", misc: KERNEL, body: symbol });
  assertEquals(at(machine, 7, 7, program + 63n, KERNEL), "bpf_prog_1");
  assertEquals(machine.ksymbol(0xffff_ffff, 0xa000_0004)?.offset, 4);
  apply(
    machine,
    { type: 17, name: "KSYMBOL", misc: KERNEL, body: { ...symbol, flags: 1 } },
  );
  assertEquals(at(machine, 7, 7, program, KERNEL), "-");
});

/** An event of one of three processes, in a few pages of memory. */
type Step =
  | { what: "map"; pid: number; from: number; pages: number; file: number }
  | { what: "fork"; pid: number; parent: number }
  | { what: "comm"; pid: number; name: number };

const pid = fc.integer({ min: 1, max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    what: fc.constant("map" as const),
    pid,
    from: fc.integer({ min: 0, max: 12 }),
    pages: fc.integer({ min: 1, max: 6 }),
    file: fc.integer({ min: 0, max: 9 }),
  }),
  fc.record({ what: fc.constant("fork" as const), pid, parent: pid }),
  fc.record({ what: fc.constant("comm" as const), pid, name: fc.integer({ min: 0, max: 9 }) }),
);

/** Model of memory as a table of pages: the last mapping of a page counts. */
class Pages {
  readonly files = new Map<number, (string | undefined)[]>();
  readonly comms = new Map<number, string>();

  take(step: Step): void {
    if (step.what === "map") {
      const pages = this.files.get(step.pid) ?? [];
      for (let i = 0; i < step.pages; i++) pages[step.from + i] = `/f${step.file}`;
      this.files.set(step.pid, pages);
    } else if (step.what === "comm") {
      this.comms.set(step.pid, `c${step.name}`);
    } else if (step.pid !== step.parent) {
      this.files.set(step.pid, [...this.files.get(step.parent) ?? []]);
      const parent = this.comms.get(step.parent);
      if (parent === undefined) this.comms.delete(step.pid);
      else this.comms.set(step.pid, parent);
    }
  }

  state(): string {
    return [1, 2, 3].map((pid) => {
      const pages = Array.from({ length: 20 }, (_, i) => this.files.get(pid)?.[i] ?? "-");
      return `${this.comms.get(pid) ?? "-"} ${pages.join(" ")}`;
    }).join("\n");
  }
}

function take(machine: Machine, step: Step): void {
  if (step.what === "map") {
    const { pid, from, pages, file } = step;
    mmap(machine, pid, BigInt(from) * PAGE, BigInt(pages) * PAGE, `/f${file}`);
  } else if (step.what === "comm") comm(machine, step.pid, step.pid, `c${step.name}`);
  else if (step.pid !== step.parent) fork(machine, step.pid, step.pid, step.parent);
}

Deno.test("Machine: any events of processes give the names and maps of a simple model", () => {
  fc.assert(fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    const machine = new Machine();
    const pages = new Pages();
    for (const step of steps) {
      take(machine, step);
      pages.take(step);
    }
    const state = [1, 2, 3].map((pid) => {
      const name = machine.comms[machine.thread(pid, pid)] as number;
      const files = Array.from({ length: 20 }, (_, i) => at(machine, pid, pid, BigInt(i) * PAGE));
      return `${name < 0 ? "-" : machine.names.text(name)} ${files.join(" ")}`;
    }).join("\n");
    assertEquals(state, pages.state());
  }));
});

Deno.test("Machine: after thousands of forks, memory depends on the living processes only", () => {
  const machine = new Machine();
  for (let i = 0; i < 12_000; i++) {
    const pid = 2 + i % 10;
    fork(machine, pid, pid, 1);
    for (let page = 0; page < 8; page++) {
      mmap(machine, pid, BigInt(page) * PAGE, PAGE, `/f${page}`);
    }
  }
  assert(machine.spaces.nodeCount < 1 << 17, `${machine.spaces.nodeCount} nodes`);
  assertEquals(at(machine, 2, 2, 5n * PAGE), "/f5");
  assertEquals(machine.map(machine.thread(0, 0), KERNEL, 0, 0), -1);
});

Deno.test("Machine: each build of a kernel module has the build id in its mapping", () => {
  const machine = new Machine();
  const module = 0xffff_ffff_c000_0000n;
  const path = "/lib/modules/1/ext4.ko";
  const buildIds = [1, 2].map((byte) => new Uint8Array(20).fill(byte));
  const seen = buildIds.map((build_id, i) => {
    const body = {
      ...{ pid: -1, tid: 0, addr: module + BigInt(i) * PAGE, len: PAGE, pgoff: 0n },
      ...{
        build_id_size: 20,
        __reserved_1: 0,
        __reserved_2: 0,
        build_id,
        prot: 5,
        flags: 2,
        filename: path,
      },
    };
    // `misc` has PERF_RECORD_MISC_MMAP_BUILD_ID.
    apply(machine, { type: 10, name: "MMAP2", misc: KERNEL | 1 << 14, body });
    return machine.map(machine.thread(7, 7), KERNEL, 0xffff_ffff, 0xc000_0000 + i * 0x1000);
  });
  for (const [i, map] of seen.entries()) {
    const { buildId, name, pid } = machine.mapSource(map);
    assertEquals(pid, undefined);
    assertEquals(machine.names.get(buildId), buildIds[i]);
    assertEquals(machine.names.text(name), path);
  }
});

Deno.test("Machine: a mapped file has the process that mapped it first", () => {
  const machine = new Machine();
  for (const pid of [70, 80]) {
    const body = {
      pid,
      tid: pid,
      addr: 0x1000n,
      len: 0x1000n,
      pgoff: 0n,
      filename: "/usr/bin/app",
    };
    apply(machine, { type: 1, name: "MMAP", misc: 2, body });
  }
  const pids = [70, 80].map((pid) => {
    const map = machine.map(machine.thread(pid, pid), 2, 0, 0x1800);
    return machine.mapSource(map).pid;
  });
  assertEquals(pids, [70, 70]);
});
