/**
 * Host and guests in one recording (`perf kvm --host --guest record`): all commands count the same
 * samples.
 */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import {
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { asFile, asPipe, type Item, type Recording } from "../../fixtures/synthesize/recording.ts";
import { ignored } from "../support/ignored.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const TEXT = 0xffff_ffff_8100_0000n;
const HOST_AT = TEXT + 0x1010n;
const GUEST_AT = TEXT + 0x2010n;

/** Samples by process, CPU mode and address. */
const SAMPLES = [
  { pid: 500, mode: 1, ip: HOST_AT, count: 6 },
  { pid: 500, mode: 4, ip: GUEST_AT, count: 4 },
  // The same address as in the host, and another guest.
  { pid: 600, mode: 4, ip: HOST_AT, count: 3 },
  { pid: 600, mode: 5, ip: 0x401000n, count: 2 },
];

function recording(): Recording {
  const sample_type = BigInt(
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD,
  );
  const attr = {
    ...emptyAttr(),
    // The size that perf 6.1 reads.
    ...{ type: 1, size: 128, sample_type },
    flags: { ...emptyAttr().flags, sample_id_all: true },
  };
  let time = 1n;
  const map = (misc: number, pid: number, name: string): Item => {
    const body = { pid, tid: 0, addr: TEXT, len: 0x100_0000n, pgoff: TEXT, filename: name };
    const sample_id = { pid: 0, tid: 0, time: time++ };
    return { record: { type: 1, name: "MMAP", misc, body, sample_id } };
  };
  const items = [
    map(1, -1, "[kernel.kallsyms]_text"),
    map(4, 0, "[guest.kernel.kallsyms]_text"),
    ...SAMPLES.flatMap(({ pid, mode, ip, count }) =>
      Array.from({ length: count }, (): Item => ({
        record: {
          ...{ type: 9, name: "SAMPLE", misc: mode },
          body: { ip, pid, tid: pid, time: time++, period: 1n },
        },
      }))
    ),
  ];
  return { events: [{ attr, ids: [] }], items, features: [] };
}

/** Copies of kallsyms of host and guest, in which an address is in different functions. */
const KALLSYMS = {
  host: "ffffffff81000000 T _text\nffffffff81001000 T host_run\nffffffff81003000 T host_end\n",
  guest:
    "ffffffff81000000 T _text\nffffffff81001000 T guest_idle\nffffffff81002000 T guest_spin\n" +
    "ffffffff81003000 T guest_end\n",
};

async function withRecording(
  use: (path: string, names: string[], piped: Uint8Array) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/perf.data`, await asFile(recording(), true));
    for (const [name, text] of Object.entries(KALLSYMS)) {
      Deno.writeTextFileSync(`${folder}/${name}`, text);
    }
    const names = ["--kallsyms", `${folder}/host`, "--guest-kallsyms", `${folder}/guest`];
    await use(`${folder}/perf.data`, names, await asPipe(recording(), true));
  });
}

Deno.test("funcs --sort machine: host and two guests, from a file with 1 and 2 threads and from a pipe", async () => {
  await withRecording(async (path, names, piped) => {
    const args = ["--json", "--sort", "machine,dso,sym", ...names];
    const runs = [
      await tool("funcs", [...args, "--jobs", "1", path]),
      await tool("funcs", [...args, "--jobs", "2", path]),
      await tool("funcs", [...args, "-"], { input: piped }),
    ];
    for (const { out, err } of runs) {
      const rows = out.trim().split("\n").map((line) => JSON.parse(line));
      assertEquals(
        rows.map(({ samples, machine, dso, level, sym }) => [samples, machine, dso, level, sym]),
        [
          [6, "host", "[kernel.kallsyms]", "k", "host_run"],
          [4, "guest 500", "[guest.kernel.kallsyms]", "g", "guest_spin"],
          [3, "guest 600", "[guest.kernel.kallsyms]", "g", "guest_idle"],
          [2, "guest 600", "[unknown]", "u", "0x0000000000401000"],
        ],
        err,
      );
    }
  });
});

Deno.test("guests: funcs, tree, script and folded agree on the number of samples", async () => {
  await withRecording(async (path, names) => {
    const all = SAMPLES.reduce((sum, { count }) => sum + count, 0);
    const lines = (text: string) => text.trim().split("\n");
    const folded = await tool("export", ["folded", ...names, path]);
    const counts = lines(folded.out).map((line) => Number(line.slice(line.lastIndexOf(" "))));
    assertEquals(counts.reduce((a, b) => a + b), all);
    const script = await tool("script", [...names, path]);
    assertEquals(lines(script.out).length, all);
    assertEquals(script.out.match(/guest_spin/g)?.length, 4);
    const tree = await tool("tree", [...names, path]);
    assert(lines(tree.out)[0]?.includes(`${all} samples`), tree.out);
    const funcs = await tool("funcs", [...names, path]);
    assert(lines(funcs.out)[0]?.includes(`${all} samples`), funcs.out);
  });
});

Deno.test({
  name: "funcs: host and guest have the rows of perf kvm --host --guest report",
  ...ignored(noPerf()),
  async fn() {
    await withRecording(async (path, names) => {
      const folder = path.slice(0, path.lastIndexOf("/"));
      const report = await perfText([
        ...["kvm", "--host", "--guest", `--guestkallsyms=${folder}/guest`, "report", "--stdio"],
        ...["--kallsyms", `${folder}/host`, "-F", "sample,dso,sym", "-t", "|"],
      ], path);
      const perf = report?.stdout.split("\n").filter((line) => /^ *\d/.test(line))
        .map((line) => line.split("|").map((cell) => cell.trim()).join(" ")) ?? [];
      const rows = await tool("funcs", ["--json", "--sort", "dso,sym", ...names, path]);
      const text = rows.out.trim().split("\n").map((line) => JSON.parse(line)).map((row) =>
        `${row.samples} ${row.dso} [${row.level}] ${row.sym}`
      );
      assertEquals(text.sort(), perf.sort(), `${report?.stderr}${rows.err}`);
    });
  },
});
