/** Programs with debug information, read as files and for recordings of them. */
import { bytesSource, FileAddresses } from "@perfdata/symbols/resolver";
import { Demangler, ElfFile, readElfSymbols } from "@perfdata/symbols";
import { DwarfContext, elfDwarfSections } from "@perfdata/symbols/dwarf";
import { symbolTable, writeElf } from "../../../packages/symbols/testing/elf_writer.ts";
import { mappedRecording } from "../../support/mapped_recording.ts";
import { demo, DEMO_PATH, isExpected, machineFiles, RECORDED, run } from "../commands.ts";
import { packSections } from "../packed_sections.ts";
import { type Field, type InputKind, Laid, row, type Seed } from "./kind.ts";

const PROGRAM_PATH = "/fuzz/program";
/** File offset and address of the function `work`. */
const [WORK_AT, WORK, WORK_SIZE] = [0x80, 0x1000, 0x40] as const;
/** Number of nested inlined calls. */
const DEPTH = 12;

/** Loads of `node->next`, `node->key`, `node->in[1].y`, a store to it, and a return. */
const CODE = [
  ...[0x48, 0x8b, 0x47, 0x08],
  ...[0x48, 0x8b, 0x0f],
  ...[0x8b, 0x57, 0x1c],
  ...[0x48, 0x89, 0x50, 0x08],
  ...[0x48, 0x89, 0x08],
  0xc3,
];
/** Offsets of these instructions in the function. */
const INSNS = [0, 4, 7, 10, 14, 17];

// Abbreviations by number; forms: 1 addr, 5 data2, 6 data4, 8 string, b data1, 13 ref4, 18 exprloc.
const ABBREVIATIONS: readonly (readonly [tag: number, children: number, ...rest: number[]])[] = [
  [0x11, 1, 0x11, 1, 0x12, 6, 0x13, 5], // 1: unit: low_pc, high_pc, language
  [0x24, 0, 3, 8, 0x0b, 0xb, 0x3e, 0xb], // 2: base type: name, byte_size, encoding
  [0x13, 1, 3, 8, 0x0b, 0xb], // 3: structure: name, byte_size
  [0x0d, 0, 3, 8, 0x49, 0x13, 0x38, 0xb], // 4: member: name, type, data_member_location
  [0x0f, 0, 0x0b, 0xb, 0x49, 0x13], // 5: pointer: byte_size, type
  [0x01, 1, 0x49, 0x13], // 6: array: type
  [0x21, 0, 0x2f, 0xb], // 7: subrange: upper_bound
  [0x16, 0, 3, 8, 0x49, 0x13], // 8: typedef: name, type
  [0x2e, 1, 3, 8, 0x11, 1, 0x12, 6, 0x40, 0x18], // 9: function: name, pcs, frame_base
  [0x05, 0, 3, 8, 0x49, 0x13, 2, 0x18], // 10: parameter: name, type, location
  [0x2e, 0, 3, 8, 0x20, 0xb], // 11: abstract function: name, inline
  [0x1d, 1, 0x31, 0x13, 0x11, 1, 0x12, 6, 0x58, 0xb, 0x59, 0xb], // 12: inlined: origin, pcs, call
];

function abbreviations(): Laid {
  const out = new Laid();
  for (const [i, [tag, children, ...rest]] of ABBREVIATIONS.entries()) {
    out.varints(1, i + 1, tag).int(1, children).varints(1, ...rest, 0, 0);
  }
  return out.raw([0]);
}

const HEADER = 11;

/** A unit with a structure to which a parameter points, and nested inlined functions. */
function unit(): Laid {
  const body = new Laid();
  const at = (): number => HEADER + body.length;
  const open = (code: number): number => {
    const start = at();
    body.varints(1, code);
    return start;
  };
  open(1);
  body.int(8, WORK).int(4, WORK_SIZE).int(2, 0x1d);
  const long = open(2);
  body.text("long").int(1, 8).int(1, 5);
  const int = open(2);
  body.text("int").int(1, 4).int(1, 5);
  const inner = open(3);
  body.text("inner").int(1, 8);
  for (const [i, name] of ["x", "y"].entries()) {
    open(4);
    body.text(name).int(4, int).int(1, 4 * i);
  }
  body.raw([0]);
  const array = open(6);
  body.int(4, inner);
  open(7);
  body.int(1, 2).raw([0]);
  // The pointer precedes the structure, which contains it.
  const pointer = open(5);
  const target = at() + 1;
  body.int(1, 8).int(4, target + 4);
  open(3);
  body.text("node").int(1, 40);
  for (const [name, type, offset] of [["key", long, 0], ["next", pointer, 8], ["in", array, 16]]) {
    open(4);
    body.text(String(name)).int(4, Number(type)).int(1, Number(offset));
  }
  body.raw([0]);
  const alias = open(8);
  body.text("node_p").int(4, pointer);
  const origins = Array.from({ length: DEPTH }, (_, i) => {
    const origin = open(11);
    body.text(`inlined${i}`).int(1, 1);
    return origin;
  });
  open(9);
  body.text("work").int(8, WORK).int(4, WORK_SIZE).raw([1, 0x9c]);
  open(10);
  // DW_OP_reg5: rdi
  body.text("n").int(4, alias).varints(1, 1).int(1, 0x55);
  for (const [i, origin] of origins.entries()) {
    open(12);
    body.int(4, origin).int(8, WORK + i).int(4, WORK_SIZE - 2 * i).int(1, 1).int(1, i);
  }
  body.raw(new Uint8Array(DEPTH + 2));
  return new Laid().int(4, HEADER - 4 + body.length).int(2, 4).int(4, 0).int(1, 8).append(body);
}

/** A program with data types and inlined calls, and the fields of its debug information. */
function program(): { bytes: Uint8Array; fields: Field[] } {
  const file = { is64: true, littleEndian: true };
  const { symtab, strtab } = symbolTable(file, [
    { name: "work", info: 0x12, shndx: 1, value: BigInt(WORK), size: BigInt(WORK_SIZE) },
  ]);
  const debug = { ".debug_info": unit(), ".debug_abbrev": abbreviations() };
  const text = new Uint8Array(WORK_SIZE).fill(0x90);
  text.set(CODE);
  const bytes = writeElf({
    ...{ ...file, type: 3, machine: 62 },
    sections: [
      { name: ".text", type: 1, flags: 6, addr: BigInt(WORK), bytes: text },
      { name: ".symtab", type: 2, bytes: symtab, link: 3, info: 1, entsize: 24 },
      { name: ".strtab", type: 3, bytes: strtab },
      ...Object.entries(debug).map(([name, { bytes }]) => ({ name, type: 1, bytes })),
    ],
    segments: [{ type: 1, flags: 5, offset: 0n, vaddr: 0xf80n, filesz: 0x400n, memsz: 0x400n }],
  });
  const { sections } = ElfFile.open(bytesSource(bytes));
  const fields = Object.entries(debug).flatMap(([name, { fields }]) => {
    const offset = Number(sections.find((section) => section.name === name)?.offset);
    return fields.map((field) => ({ ...field, offset: offset + field.offset }));
  });
  return { bytes, fields: [...elfFields(bytes), ...fields] };
}

/** The numbers of a 64-bit file's header, segments and sections, and its symbols. */
function elfFields(bytes: Uint8Array): Field[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fields = [...row(16, 2, 2, true), ...row(24, 8, 3, true), ...row(52, 2, 6, true)];
  const number = (at: number): number => Number(view.getBigUint64(at, true));
  const [segments, sections] = [number(32), number(40)];
  for (let i = 0; i < view.getUint16(56, true); i++) {
    fields.push(...row(segments + 56 * i, 4, 2, true), ...row(segments + 56 * i + 8, 8, 6, true));
  }
  for (let i = 1; i < view.getUint16(60, true); i++) {
    const at = sections + 64 * i;
    fields.push(...row(at, 4, 2, true), ...row(at + 8, 8, 4, true), ...row(at + 40, 4, 2, true));
    if (![2, 11].includes(view.getUint32(at + 4, true))) continue;
    for (let k = 0; k < Math.min(number(at + 32), 24 * 64); k += 24) {
      const symbol = number(at + 24) + k;
      fields.push(...row(symbol, 4, 1, true), ...row(symbol + 8, 8, 2, true));
    }
  }
  return fields;
}

const PROGRAM = "types and inlined calls";

/** Commands that open the recorded files, by name. */
export const OPENING: readonly (readonly [string, ...string[]])[] = [
  ["funcs", "--sort", "sym,srcline", "SYMFS", "RECORDING"],
  ["funcs", "--inline", "--children", "SYMFS", "RECORDING"],
  ["funcs", "--sort", "type,typeoff,typecln", "SYMFS", "RECORDING"],
  ["readperf", "-f", "-o", "OUT", "SYMFS", "RECORDING"],
  ["flame", "-f", "-o", "OUT/flame.html", "SYMFS", "RECORDING"],
  ["tree", "--inline", "SYMFS", "RECORDING"],
  ["script", "SYMFS", "RECORDING"],
  ["annotate", "SYMFS", "RECORDING", "/^(main|work)$/"],
  ["annotate", "--data-type", "SYMFS", "RECORDING"],
  ["symbols", "trust", "SYMFS", "RECORDING"],
  ["symbols", "bundle", "-f", "-o", "OUT/perf.symbols", "SYMFS", "RECORDING"],
  ["symbols", "bundle", "--code", "-f", "-o", "OUT/perf.symbols", "SYMFS", "RECORDING"],
  ["export", "pprof", "-f", "-o", "OUT/exported", "SYMFS", "RECORDING"],
];

/** Runs one of these with another program in place of a seed's. Returns exit code and output. */
export async function runBeside(
  [name, ...rest]: readonly [string, ...string[]],
  seed: string,
  program: Uint8Array,
  folder: string,
): Promise<{ code: number; out: string; err: string }> {
  const isOwn = seed === PROGRAM;
  const symfs = machineFiles(folder, isOwn ? PROGRAM_PATH : DEMO_PATH, program);
  const recording = isOwn ? `${folder}/program.data` : RECORDED;
  if (isOwn) {
    const offsets = INSNS.map((offset) => BigInt(WORK_AT + offset));
    const recorded = await mappedRecording({ path: PROGRAM_PATH, samples: 2, offsets });
    Deno.writeFileSync(recording, recorded);
  }
  const args = rest.flatMap((arg) =>
    arg === "SYMFS"
      ? ["--symfs", symfs]
      : [arg.replace("OUT", folder).replace("RECORDING", recording)]
  );
  const result = await run(name, args);
  if (result.code === 2) throw new Error(`wrong usage: ${name} ${args.join(" ")}: ${result.err}`);
  return result;
}

const ADDRESSES = Float64Array.from({ length: 64 }, (_, i) => WORK + 8 * i);

export const PROGRAMS: InputKind = {
  kind: "elf",
  seeds(): Omit<Seed, "kind" | "ours">[] {
    const bytes = demo();
    return [
      { name: "demo", bytes, fields: elfFields(bytes) },
      { name: PROGRAM, ...program() },
    ];
  },
  targets: [{
    name: "elf",
    run(bytes) {
      const elf = ElfFile.open(bytesSource(bytes), { maxDecompressedSize: 1 << 24 });
      const steps = [
        () => elf.buildId(),
        () => elf.debugLink(),
        () => elf.debugAltLink(),
        () => new FileAddresses(elf).fromOffset(0x1000),
        () => {
          const { table } = readElfSymbols(elf);
          const demangler = new Demangler();
          for (let i = 0; i < table.size; i++) demangler.demangle(table.name(i));
        },
      ];
      for (const step of steps) {
        try {
          step();
        } catch (error) {
          if (!isExpected(error)) throw error;
        }
      }
      const dwarf = DwarfContext.open(elfDwarfSections(elf), { diagnostics: () => {} });
      dwarf.findAll(ADDRESSES, { keep: false });
    },
  }, {
    // The output about a damaged program does not matter, only that the command ends, and handles
    // the rest.
    name: "program beside a recording",
    async run(bytes, { folder }, random, seed) {
      const program = random.below(2) === 0 ? bytes : packSections(bytes, random);
      const { code } = await runBeside(random.pick(OPENING), seed, program, folder);
      if (![0, 1].includes(code)) throw new Error(`exit code ${code}`);
    },
  }],
};
