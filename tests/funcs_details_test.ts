/** Values that few samples have, as keys of `funcs`, beside `perf report --sort`. */
import { emptyAttr } from "@perfdata/format";
import {
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
} from "@perfdata/format/perf-event";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { asFile, asPipe, type Item, Numbers } from "../fixtures/synthesize/recording.ts";
import { ignored } from "./ignored.ts";
import { noPerf, perfText } from "./perf.ts";
import { inFolder, tool } from "./tool.ts";

const SEPARATOR = "\x01";
const SAMPLE_TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
  PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_CGROUP |
  PERF_SAMPLE_CODE_PAGE_SIZE;

const KEYS = [
  "cgroup",
  "comm,cgroup",
  "addr",
  "transaction",
  "code_page_size,cgroup",
  "local_weight,transaction",
  "comm,cgroup,addr",
];

/** Samples of two processes in cgroups with a name, one without, and none. */
async function recordings() {
  const numbers = new Numbers(8);
  const any = <T>(list: readonly T[]): T => list[numbers.below(list.length)] as T;
  const cgroup = (id: bigint, path: string): Item => ({
    record: { type: 19, name: "CGROUP", misc: 0, body: { id, path } },
  } as Item);
  const items: Item[] = [
    ...[7, 8].map((pid): Item => ({
      record: { type: 3, name: "COMM", misc: 0, body: { pid, tid: pid, comm: `work${pid}` } },
    })),
    cgroup(1n, "/"),
    cgroup(0x1_0000_0007n, "/user.slice/app"),
    ...Array.from({ length: 300 }, (_, i): Item => {
      const pid = any([7, 8]);
      return {
        record: {
          type: 9,
          name: "SAMPLE",
          misc: 2,
          body: {
            ...{ ip: BigInt(any([0x401000, 0x401010, 0x7fff12345678])), pid, tid: pid },
            ...{ time: BigInt(1000 * (i + 1)), cpu: numbers.below(3), res: 0, period: 5n },
            weight: BigInt(numbers.below(4)),
            transaction: any([0n, 1n, 2n, 6n, 8n, 0x42n, 0x85n | 7n << 32n, 0x30n]),
            cgroup: any([0n, 1n, 0x1_0000_0007n, 99n]),
            code_page_size: any([0n, 4096n, 2n << 20n]),
          },
        },
      } as Item;
    }),
    // It is named at the end, as what perf meets last.
    cgroup(0x1_0000_0007n, "/another"),
  ];
  const attr = {
    ...emptyAttr(),
    ...{ size: 120, sample_period: 1n, sample_type: BigInt(SAMPLE_TYPE) },
  };
  const recording = { events: [{ attr, ids: [1n] }], items, features: [] };
  return {
    little: await asFile(recording, true),
    big: await asFile(recording, false),
    pipe: await asPipe(recording, true),
  };
}

async function ownRows(path: string, keys: string, ...more: string[]): Promise<string[]> {
  const { code, out, err } = await tool("funcs", [
    ...["--sort", keys, "--json", "--no-inline", ...more, path],
  ]);
  assertEquals(code, 0, err);
  return out.trimEnd().split("\n").map((line) => {
    const row = JSON.parse(line);
    return [row.samples, row.period, ...keys.split(",").map((key) => String(row[key]).trim())]
      .join("\t");
  }).sort();
}

async function perfRows(path: string, keys: string): Promise<string[]> {
  const output = await perfText([
    ...["report", "--stdio", "-F", `sample,period,${keys}`, "-t", SEPARATOR],
    ...["-w", Array(2 + keys.split(",").length).fill(200).join()],
  ], path);
  assertEquals(output?.code, 0, output?.stderr);
  return (output?.stdout ?? "").split("\n")
    .filter((line) => !line.startsWith("#") && line.includes(SEPARATOR))
    .map((line) => line.split(SEPARATOR).map((cell) => cell.trim().replace(/ +/g, " ")).join("\t"))
    .sort();
}

Deno.test({
  name: "funcs: cgroup, addr, transaction and the like are keys as of perf report --sort",
  ...ignored(noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      const { little, big, pipe } = await recordings();
      const path = `${folder}/little.data`;
      Deno.writeFileSync(path, little);
      Deno.writeFileSync(`${folder}/big.data`, big);
      Deno.writeFileSync(`${folder}/pipe.data`, pipe);
      let rows = 0;
      for (const keys of KEYS) {
        const ours = await ownRows(path, keys);
        assertEquals(ours, await perfRows(path, keys), keys);
        assertEquals(await ownRows(`${folder}/big.data`, keys), ours, `${keys}, big-endian`);
        assertEquals(await ownRows(`${folder}/pipe.data`, keys), ours, `${keys}, a pipe`);
        assertEquals(await ownRows(path, keys, "--jobs", "2"), ours, `${keys}, two threads`);
        rows += ours.length;
      }
      console.log(`funcs: ${rows} rows of keys that few samples have are those of perf`);
      assert(rows >= 90, `${rows} rows`);
    }),
});

Deno.test("funcs: values of samples are no keys of branches and of times", async () => {
  const path = new URL("../fixtures/recorded/switch.perf.data", import.meta.url).pathname;
  for (
    const args of [
      ["--sort", "symbol_from,cgroup"],
      ["-b", "--sort", "addr,symbol_to"],
      ["--weight", "off-cpu", "--sort", "local_weight"],
    ]
  ) {
    const { code, out, err } = await tool("funcs", [...args, path]);
    assertEquals([code, out], [2, ""], args.join(" "));
    assertStringIncludes(err, "is of samples: without");
  }
});

Deno.test("funcs: a key that no sample has a value of is said to be one", async () => {
  const path = new URL("../fixtures/recorded/clock.perf.data", import.meta.url).pathname;
  const flags = { cgroup: "--all-cgroups", phys_daddr: "--phys-data", local_weight: "--weight" };
  for (const [key, flag] of Object.entries(flags)) {
    const { code, err } = await tool("funcs", ["--sort", key, path]);
    assertEquals(code, 0);
    assertStringIncludes(err, `perf record ${flag} records it`);
  }
  const { err } = await tool("funcs", ["--sort", "addr", path]);
  assertEquals(err, "");
});
