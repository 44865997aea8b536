/** Names in the recording itself, in features of simpleperf and hiperf. */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr, PerfDataReader } from "@perfdata/format/records";
import type { Feature } from "@perfdata/format/features";
import {
  HEADER_HI_FILES_SYMBOL,
  HEADER_SP_FILE,
  HEADER_SP_FILE2,
} from "@perfdata/format/constants";
import { openSource } from "@perfdata/format/files";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { corpusFiles } from "../support/corpus.ts";
import { inFolder, tool } from "../support/tool.ts";

const KERNEL = 0xffff_ffc0_1000_0000n;
const LIBRARY = "/system/lib/libgame.so",
  DEX = "/data/app/base.vdex",
  GONE = "/system/lib/libother.so";

/**
 * Samples in the kernel, in a library whose code is at 0x3000 of the file and 0x5000 of memory, and
 * elsewhere.
 */
async function recording(features: readonly Feature[]): Promise<Uint8Array> {
  const user = { pid: 7, tid: 7, len: 0x1000n };
  const maps = [
    {
      misc: 1,
      body: {
        pid: -1,
        tid: 0,
        addr: 0n,
        len: 2n ** 64n - 1n,
        pgoff: 0n,
        filename: "[kernel.kallsyms]",
      },
    },
    { misc: 2, body: { ...user, addr: 0x7000_0000n, pgoff: 0x3000n, filename: LIBRARY } },
    { misc: 2, body: { ...user, addr: 0x7100_0000n, pgoff: 0n, filename: DEX } },
    { misc: 2, body: { ...user, addr: 0x7200_0000n, pgoff: 0n, filename: GONE } },
  ].map((map) => ({ type: 1, name: "MMAP", ...map }));
  const samples: [number, bigint][] = [
    [1, KERNEL + 0x14n],
    [1, KERNEL + 0x4_0000n],
    [2, 0x7000_0010n],
    [2, 0x7000_0020n],
    [2, 0x7000_0030n],
    [2, 0x7100_0100n],
    [2, 0x7200_0010n],
  ];
  const items = [
    { type: 3, name: "COMM", misc: 0, body: { pid: 7, tid: 7, comm: "game" } },
    ...maps,
    ...samples.map(([misc, ip], i) => ({
      type: 9,
      name: "SAMPLE",
      misc,
      body: { ip, pid: 7, tid: 7, time: BigInt(1000 * i), period: 1n },
    })),
  ].map((record) => ({ record }) as Item);
  const attr = { ...emptyAttr(), size: 120, sample_type: 7n, sample_period: 1n };
  return await asFile({ events: [{ attr, ids: [1n] }], items, features }, true);
}

/** A protobuf field: a number or bytes. */
function field(number: number, value: bigint | Uint8Array): number[] {
  const varint = (n: bigint): number[] =>
    n < 128n ? [Number(n)] : [Number(n & 127n) | 128, ...varint(n >> 7n)];
  return typeof value === "bigint"
    ? [number << 3, ...varint(value)]
    : [number << 3 | 2, ...varint(BigInt(value.length)), ...value];
}
const utf8 = (text: string) => new TextEncoder().encode(text);
const message = (...fields: number[][]) => Uint8Array.from(fields.flat());
const symbolMessage = (vaddr: bigint, len: bigint, name: string) =>
  message(field(1, vaddr), field(2, len), field(3, utf8(name)));

const KERNEL_SYMBOLS = [{ start_vaddr: KERNEL + 0x10n, len: 16, name: "schedule" }];
// In memory: the file's 0x3010 is at 0x5010.
const LIBRARY_SYMBOLS = [
  { start_vaddr: 0x5010n, len: 16, name: "_ZN4game4tickEv" },
  { start_vaddr: 0x5020n, len: 16, name: "draw" },
];
const FEATURES: Record<string, Feature> = {
  simpleperf: {
    id: HEADER_SP_FILE,
    name: "SP_FILE",
    value: [
      {
        path: "[kernel.kallsyms]",
        type: 0,
        min_vaddr: 0n,
        symbols: KERNEL_SYMBOLS,
        file_offset_of_min_vaddr: 2n ** 64n - 1n,
      },
      {
        path: LIBRARY,
        type: 2,
        min_vaddr: 0x5000n,
        symbols: LIBRARY_SYMBOLS,
        file_offset_of_min_vaddr: 0x3000n,
      },
      {
        path: DEX,
        type: 3,
        min_vaddr: 0n,
        symbols: [{ start_vaddr: 0x100n, len: 8, name: "Main.run" }],
        dex_file_offsets: [0n],
        file_offset_of_min_vaddr: 2n ** 64n - 1n,
      },
    ],
  },
  "simpleperf, FILE2": {
    id: HEADER_SP_FILE2,
    name: "SP_FILE2",
    value: [
      message(
        field(1, utf8("[kernel.kallsyms]")),
        field(2, 0n),
        field(4, symbolMessage(KERNEL + 0x10n, 16n, "schedule")),
      ),
      message(
        field(1, utf8(LIBRARY)),
        field(2, 2n),
        field(3, 0x5000n),
        ...LIBRARY_SYMBOLS.map(({ start_vaddr, len, name }) =>
          field(4, symbolMessage(start_vaddr, BigInt(len), name))
        ),
        field(6, message(field(1, 0x3000n))),
      ),
      message(field(1, utf8(DEX)), field(2, 3n), field(4, symbolMessage(0x100n, 8n, "Main.run"))),
    ],
  },
  hiperf: {
    id: HEADER_HI_FILES_SYMBOL,
    name: "HI_FILES_SYMBOL",
    value: {
      files: [
        // It has no sizes for kallsyms.
        {
          path: "[kernel.kallsyms]",
          type: 0,
          text_exec_vaddr: 2n ** 64n - 1n,
          text_exec_vaddr_file_offset: 0n,
          build_id: "",
          symbols: [{ vaddr: KERNEL + 0x10n, len: 0, name: "schedule" }],
        },
        {
          path: LIBRARY,
          type: 2,
          text_exec_vaddr: 0x5000n,
          text_exec_vaddr_file_offset: 0x3000n,
          build_id: "",
          symbols: LIBRARY_SYMBOLS.map(({ start_vaddr: vaddr, len, name }) => ({
            vaddr,
            len,
            name,
          })),
        },
        {
          path: DEX,
          type: 3,
          text_exec_vaddr: 0n,
          text_exec_vaddr_file_offset: 0n,
          build_id: "",
          symbols: [{ vaddr: 0x100n, len: 8, name: "Main.run" }],
        },
      ],
    },
  },
};

for (const [name, feature] of Object.entries(FEATURES)) {
  Deno.test(`recorded symbols: functions have the names in the recording: ${name}`, () =>
    inFolder(async (folder) => {
      const data = `${folder}/perf.data`;
      await Deno.writeFile(data, await recording([feature]));
      const { out, err } = await tool("script", ["-F", "ip,sym,symoff", data]);
      assertEquals(out.trim().split("\n").map((line) => line.trim().replace(/^[0-9a-f]+ /, "")), [
        "schedule+0x4",
        "[unknown]",
        "game::tick+0x0",
        "draw+0x0",
        "[unknown]",
        "Main.run+0x0",
        "[unknown]",
      ], err);
      // Recorded names are verified.
      assert(!err.includes("unverified") && !err.includes("not known to be"), err);
    }));
}

const files = corpusFiles();

Deno.test("simpleperf, hiperf: recorded symbols name functions without the device's files", {
  ignore: files.length === 0,
}, async (t) => {
  let compared = 0, named = 0, asked = 0;
  for (const { path } of files.filter(({ path }) => /simpleperf|hiperf/.test(path))) {
    const { size } = Deno.statSync(path);
    if (size > 300_000) continue;
    let hasNames = false;
    try {
      const reader = await PerfDataReader.open(openSource(path));
      hasNames = reader.features.some(({ id }) =>
        id === HEADER_SP_FILE || id === HEADER_SP_FILE2 || id === HEADER_HI_FILES_SYMBOL
      );
    } catch {
      continue;
    }
    if (!hasNames || compared === 12) continue;
    compared++;
    const { out } = await tool("funcs", ["--json", "--sort", "dso,sym", path]);
    for (const line of out.trim().split("\n").filter((line) => line !== "")) {
      const { sym, samples } = JSON.parse(line);
      asked += samples ?? 0;
      if (typeof sym === "string" && !sym.startsWith("0x")) named += samples;
    }
  }
  await t.step(`${named} of ${asked} samples of ${compared} recordings`, () => {
    assert(compared >= 8, `${compared} recordings`);
    assert(named > 0.6 * asked, `${named} of ${asked}`);
  });
});
