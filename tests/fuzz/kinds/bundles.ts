/** Symbol bundles (docs/symbol-bundle.md), with a valid or invalid checksum. */
import { SymbolBundle } from "@perfdata/symbols";
import { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import { resolution } from "@perfdata/symbols/resolver";
import { bundleChecksum, HEADER } from "../../../packages/symbols/bundle/bundle_format.ts";
import { demo, DEMO_PATH, machineFiles, RECORDED, run } from "../commands.ts";
import { type Field, type InputKind, row } from "./kind.ts";

/** Limit of fields in sections. */
const MOST = 1000;

function fieldsOf(bytes: Uint8Array): Field[] {
  const words = row(HEADER.END, 4, Math.floor((bytes.length - HEADER.END) / 4), false);
  const every = Math.ceil(words.length / MOST);
  return [
    ...row(HEADER.VERSION, 4, (HEADER.END - HEADER.VERSION) / 4, true),
    // All of them are important: numbers of rows and strings, sizes, addresses.
    ...words.filter((_, i) => i % every === 0).map((field) => ({ ...field, steers: true })),
  ];
}

function small(): Uint8Array {
  const writer = new SymbolBundleWriter();
  const object = { path: "/usr/bin/true", kind: "elf", buildId: "ab".repeat(20) } as const;
  for (let i = 0; i < 20; i++) {
    const symbol = { name: `f${i}`, start: 0x1000 + 64 * i, end: 0x1040 + 64 * i };
    const frame = {
      function: `f${i}`,
      linkageName: undefined,
      file: "a.c",
      line: i + 1,
      column: 0,
      discriminator: 0,
      inlined: false,
    };
    writer.add(object, 0x1010 + 64 * i, resolution(symbol, [frame], (name) => name));
  }
  return writer.finish();
}

/** The bundle of a recording, with its functions' code. */
async function withCode(): Promise<Uint8Array> {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-bundle-" });
  try {
    const symfs = machineFiles(folder, DEMO_PATH, demo());
    const path = `${folder}/perf.symbols`;
    await run("symbols", ["bundle", "--code", "-f", "-o", path, "--symfs", symfs, RECORDED]);
    return Deno.readFileSync(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Commands that read a bundle instead of programs. */
export const NAMED_BY_BUNDLE: readonly (readonly [string, ...string[]])[] = [
  ["funcs", "--sort", "sym,srcline", "--symbols", "BUNDLE", RECORDED],
  ["tree", "--inline", "--symbols", "BUNDLE", RECORDED],
  ["script", "--symbols", "BUNDLE", RECORDED],
  ["annotate", "--symbols", "BUNDLE", RECORDED, "fib"],
  ["symbols", "trust", "--symbols", "BUNDLE", RECORDED],
];

export const BUNDLES: InputKind = {
  kind: "bundle",
  async seeds() {
    return Object.entries({ bundle: small(), "bundle with code": await withCode() })
      .map(([name, bytes]) => ({ name, bytes, fields: fieldsOf(bytes) }));
  },
  seal(bytes) {
    if (bytes.length < HEADER.SIZE) return;
    new DataView(bytes.buffer).setUint32(HEADER.CRC, bundleChecksum(bytes), true);
  },
  targets: [{
    name: "bundle",
    run(bytes) {
      for (const object of SymbolBundle.open(bytes).objects) {
        for (const entry of object.entries()) object.find(entry.start);
      }
    },
  }, {
    name: "bundle in the place of programs",
    async run(_, { path }, random) {
      const [command, ...args] = random.pick(NAMED_BY_BUNDLE);
      await run(command, args.map((arg) => arg === "BUNDLE" ? path : arg));
    },
  }],
};
