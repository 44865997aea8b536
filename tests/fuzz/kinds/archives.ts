/** Recordings and files of a machine in tar archives, compressed or not, as a file or on standard input. */
import { mappedRecording, oneFunction } from "../../support/mapped_recording.ts";
import { run } from "../commands.ts";
import type { Random } from "../random.ts";
import { type Field, type InputKind, Laid } from "./kind.ts";
import { packed, PACKINGS, type Twist } from "./packing.ts";

const BLOCK = 512;
const MAGIC = "ustar";
/** Positions of a header's fields. */
const [SIZE, SUM, TYPE, MAGIC_AT] = [124, 148, 156, 257] as const;
const encoder = new TextEncoder();

/** The sampled object, and its program. */
const OBJECT = { path: "/usr/bin/worker", buildId: "ab".repeat(20) };
const RECORDING = "recording in an archive";
const FILES = "files in an archive";

/** Writes a tar archive (POSIX.1-1988): headers and contents in blocks of 512 bytes. */
class Tar {
  readonly #out = new Laid();
  readonly fields: Field[] = [];

  add(name: string, contents: Uint8Array, type = "0"): this {
    const header = new Uint8Array(BLOCK);
    const put = (text: string, at: number) => header.set(encoder.encode(text), at);
    put(name.slice(0, 100), 0);
    put("0000644\0", 100);
    put(contents.length.toString(8).padStart(11, "0"), SIZE);
    put(type, TYPE);
    put(`${MAGIC}\0${"00"}`, MAGIC_AT);
    setSum(header);
    const at = this.#out.length;
    this.fields.push(
      { offset: at + SIZE, size: 11, steers: true, form: "octal" },
      { offset: at + SUM, size: 6, steers: false, form: "octal" },
      { offset: at + TYPE, size: 1, steers: true },
      { offset: at, size: 8, steers: false },
      { offset: at + 345, size: 8, steers: false },
    );
    this.#out.raw(header).raw(contents).raw(new Uint8Array(-contents.length & BLOCK - 1));
    return this;
  }

  finish(): { bytes: Uint8Array; fields: Field[] } {
    return { bytes: this.#out.raw(new Uint8Array(2 * BLOCK)).bytes, fields: this.fields };
  }
}

/** Sets the checksum of a header: the sum of its bytes, with blanks in place of the checksum. */
function setSum(header: Uint8Array): void {
  header.fill(0x20, SUM, SUM + 8);
  const sum = header.reduce((sum, byte) => sum + byte, 0);
  header.set(encoder.encode(`${sum.toString(8).padStart(6, "0")}\0`), SUM);
}

const recording = () => mappedRecording(OBJECT);

async function recordingArchive(): Promise<Tar> {
  return new Tar()
    .add("notes.txt", encoder.encode("notes"))
    .add("././@LongLink", encoder.encode(`${"long/".repeat(30)}perf.data\0`), "L")
    .add("long", await recording())
    .add("after", encoder.encode("18 path=by-posix\n"), "x")
    .add("other", encoder.encode("other"));
}

function filesArchive(): Tar {
  const program = oneFunction(OBJECT);
  return new Tar()
    .add(".build-id/ab/", new Uint8Array(), "5")
    .add(`.build-id/ab/${"ab".repeat(19)}`, new Uint8Array(), "2")
    .add("[kernel.kallsyms]/ab/kallsyms", encoder.encode("ffffffff81000000 T _text\n"))
    .add(`usr/bin/worker/${OBJECT.buildId}/elf`, program)
    .add("usr/bin/worker", program);
}

/**
 * Commands that read an archive: `ARCHIVE` is its path, `-` standard input, `RECORDING` the
 * recording of its files.
 */
export const UNPACKING: Readonly<
  Record<string, readonly (readonly [string, ...string[]])[]>
> = {
  [RECORDING]: [
    ["info", "ARCHIVE"],
    ["funcs", "ARCHIVE"],
    ["funcs", "-"],
    ["dump", "--no-hex", "--limit", "5", "-"],
    ["script", "-"],
    ["convert", "-f", "-o", "OUT/out.data", "ARCHIVE"],
    ["convert", "-f", "-o", "OUT/out.data", "-"],
  ],
  [FILES]: [
    ["funcs", "--symfs", "ARCHIVE", "RECORDING"],
    ["annotate", "--symfs", "ARCHIVE", "RECORDING", "work"],
    ["symbols", "trust", "--symfs", "ARCHIVE", "RECORDING"],
    ["symbols", "bundle", "--code", "-f", "-o", "OUT/s", "--symfs", "ARCHIVE", "RECORDING"],
  ],
};

/** Runs one of these on a file. Returns exit code and output. */
export async function unpack(
  [command, ...args]: readonly [string, ...string[]],
  file: Uint8Array,
  folder: string,
): Promise<{ code: number; out: string }> {
  // Always with this name: --symfs recognizes a compressed archive only by name.
  const archive = `${folder}/archive.tar.bz2`, data = `${folder}/archived.data`;
  Deno.writeFileSync(archive, file);
  if (args.includes("RECORDING")) Deno.writeFileSync(data, await recording());
  const names: Record<string, string> = { ARCHIVE: archive, RECORDING: data };
  return await run(
    command,
    args.map((arg) => names[arg] ?? arg.replace("OUT", folder)),
    args.includes("-") ? file : undefined,
  );
}

/** Changes about one of 40 numbers in every second file. */
function twisting(random: Random): Twist {
  if (random.once(2)) return (value) => value;
  return (value, bits) =>
    random.once(40)
      ? random.pick([0, 1, value - 1, value + 1, 2 ** bits - 1, random.next() % 2 ** bits])
      : value;
}

/** Archives. */
export const ARCHIVES: InputKind = {
  kind: "archive",
  async seeds() {
    return [
      { name: RECORDING, ...(await recordingArchive()).finish() },
      { name: FILES, ...filesArchive().finish() },
    ];
  },
  seal(bytes) {
    for (let at = 0; at + BLOCK <= bytes.length; at += BLOCK) {
      const header = bytes.subarray(at, at + BLOCK);
      const magic = new TextDecoder().decode(header.subarray(MAGIC_AT, MAGIC_AT + MAGIC.length));
      if (magic === MAGIC) setSum(header);
    }
  },
  targets: [{
    name: "archive",
    async run(bytes, { folder }, random, seed) {
      const file = packed(bytes, random.pick(PACKINGS), twisting(random));
      if (random.once(4)) file[random.below(file.length)] = random.next();
      const { code } = await unpack(random.pick(UNPACKING[seed] ?? []), file, folder);
      if (![0, 1].includes(code)) throw new Error(`exit code ${code}`);
    },
  }],
};
