/** Files in which JIT compilers name their code: jitdumps and perf maps. */
import { bytesSource } from "@perfdata/symbols/resolver";
import { JitSymbols, openJitdump, readPerfMap } from "@perfdata/symbols";
import { emptyAttr } from "@perfdata/format/records";
import { asFile, type Item } from "../../../fixtures/synthesize/recording.ts";
import { JitdumpWriter } from "../../support/jitdump.ts";
import { run } from "../commands.ts";
import { digits, type Field, type InputKind, Laid, row, type Target } from "./kind.ts";

/** The processes with a jitdump and a perf map. */
const [DUMPED, MAPPED] = [7, 8] as const;
const [FIRST, SECOND, MOVED] = [0x7f0000001000n, 0x7f0000002000n, 0x7f0000003000n];
const CODE = Uint8Array.of(0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x07, 0x5d, ...Array(8).fill(0x90));

/** An FDE for code of 16 bytes: the CFA is rsp + 8, below it the return address. */
const EH_FRAME = new Laid()
  .int(4, 20).int(4, 0).raw([1]).text("zR").raw([1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0])
  .int(4, 16).int(4, 28).int(4, 0).int(4, 16).raw([0, 0, 0, 0])
  .int(4, 0).bytes;

function jitdump(): Uint8Array {
  const dump = new JitdumpWriter(DUMPED);
  dump.load(10n, FIRST, "plain", CODE);
  dump.lines(20n, SECOND, [[SECOND, 3, "a.js"], [SECOND + 8n, 4, "b.js"]]);
  dump.unwinding(20n, EH_FRAME);
  const index = dump.load(20n, SECOND, "lined", CODE);
  dump.load(30n, FIRST, "later", CODE);
  dump.move(40n, index, SECOND, MOVED, BigInt(CODE.length));
  return dump.bytes;
}

/** The numbers of the header and of each record. */
function dumpFields(bytes: Uint8Array): Field[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fields = [...row(0, 4, 6, true), ...row(24, 8, 2, true)];
  for (let at = 40; at + 16 <= bytes.length; at += view.getUint32(at + 4, true)) {
    const size = view.getUint32(at + 4, true);
    fields.push(...row(at, 4, 2, true), ...row(at + 8, 8, Math.min(6, (size >> 3) - 1), true));
  }
  return fields;
}

const PERF_MAP = `00007f0000001000 00000040 LazyCompile:*f a.js:1
00007f0000001040 00000080 void Outer::inner(int)
0x00007f0000002000 0x00000010 Function:~g
`;

/**
 * A recording of two processes with code at the same addresses, each of which has a file with
 * names.
 *
 * @param root Folder of the files, as recorded.
 */
async function jitRecording(root: string): Promise<Uint8Array> {
  const attr = {
    ...{ ...emptyAttr(), size: 120, sample_type: 0x27n, sample_period: 1n, clockid: 1 },
    flags: { ...emptyAttr().flags, use_clockid: true, sample_id_all: true },
  };
  const items: Item[] = [];
  const add = (record: object) => items.push({ record } as Item);
  for (const pid of [DUMPED, MAPPED]) {
    const sample_id = { pid, tid: pid, time: 1n };
    const at = { pid, tid: pid, addr: FIRST, len: 0x10000n, pgoff: FIRST, filename: "//anon" };
    add({ type: 3, name: "COMM", misc: 0, body: { pid, tid: pid, comm: "vm" }, sample_id });
    add({ type: 1, name: "MMAP", misc: 2, body: at, sample_id });
    const filename = `${root}/tmp/jit-${pid}.dump`;
    const marker = { ...at, addr: 0x70000n, len: 0x1000n, pgoff: 0n, filename };
    if (pid === DUMPED) add({ type: 1, name: "MMAP", misc: 2, body: marker, sample_id });
  }
  for (let i = 0; i < 20; i++) {
    const pid = i % 2 === 0 ? DUMPED : MAPPED;
    const ip = [FIRST, SECOND, MOVED][i % 3] ?? FIRST;
    const callchain = [0xffff_ffff_ffff_fe00n, ip + 4n, SECOND + 8n];
    const body = { ip: ip + 4n, pid, tid: pid, time: BigInt(5 + 3 * i), callchain };
    add({ type: 9, name: "SAMPLE", misc: 2, body });
  }
  return await asFile({ events: [{ attr, ids: [1n] }], items, features: [] }, true);
}

/** Commands that name JIT-compiled code. */
export const NAMING_JIT: readonly (readonly [string, ...string[]])[] = [
  ["funcs", "--symfs", "FILES", "RECORDING"],
  ["funcs", "--sort", "sym,srcline", "--children", "--symfs", "FILES", "RECORDING"],
  ["tree", "--symfs", "FILES", "RECORDING"],
  ["script", "--symfs", "FILES", "RECORDING"],
  ["annotate", "--symfs", "FILES", "RECORDING", "/./"],
  ["symbols", "trust", "--symfs", "FILES", "RECORDING"],
  ["symbols", "bundle", "--code", "-f", "-o", "OUT/perf.symbols", "--symfs", "FILES", "RECORDING"],
  ["convert", "--jit", "-f", "-o", "OUT/out.data", "RECORDING"],
];

/** Runs one of these with the files of both processes, one of which may be replaced. */
export async function nameJit(
  [command, ...args]: readonly [string, ...string[]],
  folder: string,
  damaged: { readonly kind?: string; readonly bytes?: Uint8Array } = {},
): Promise<{ code: number; out: string }> {
  const recording = `${folder}/jit.data`, files = `${folder}/files`;
  Deno.mkdirSync(`${files}/tmp`, { recursive: true });
  Deno.writeFileSync(recording, await jitRecording(args.includes("--symfs") ? "" : files));
  const { kind, bytes = new Uint8Array() } = damaged;
  Deno.writeFileSync(
    `${files}/tmp/jit-${DUMPED}.dump`,
    kind === "jitdump" ? bytes : jitdump(),
  );
  Deno.writeFileSync(
    `${files}/tmp/perf-${MAPPED}.map`,
    kind === "perf map" ? bytes : new TextEncoder().encode(PERF_MAP),
  );
  return await run(
    command,
    args.map((arg) =>
      arg.replace("OUT", folder).replace("FILES", files).replace("RECORDING", recording)
    ),
  );
}

const beside = (kind: "jitdump" | "perf map"): Omit<Target, "kind"> => ({
  name: `${kind} beside a recording`,
  async run(bytes, { folder }, random) {
    const { code } = await nameJit(random.pick(NAMING_JIT), folder, { kind, bytes });
    if (![0, 1].includes(code)) throw new Error(`exit code ${code}`);
  },
});

export const JITDUMPS: InputKind = {
  kind: "jitdump",
  seeds() {
    const bytes = jitdump();
    return [{ name: "jitdump", bytes, fields: dumpFields(bytes) }];
  },
  targets: [{
    name: "jitdump",
    run(bytes) {
      const symbols = new JitSymbols(openJitdump(bytesSource(bytes)).records());
      const code = symbols.lookup(Number(SECOND) + 8, Infinity);
      if (code !== undefined) symbols.line(code, Number(SECOND) + 8);
    },
  }, beside("jitdump")],
};

export const PERF_MAPS: InputKind = {
  kind: "perf map",
  seeds: () => [{
    name: "perf map",
    bytes: new TextEncoder().encode(PERF_MAP),
    fields: digits(PERF_MAP),
  }],
  targets: [{
    name: "perf map",
    run: (bytes) => void readPerfMap(bytes).table.lookup(Number(FIRST)),
  }, beside("perf map")],
};
