/**
 * Recordings with a few samples in files that a test chooses, and programs of one function for
 * them.
 */
import { emptyAttr } from "@perfdata/format/records";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import {
  symbolTable,
  writeElf,
  type WrittenSection,
} from "../../packages/symbols/testing/elf_writer.ts";

/** Address of the first object; the others follow. */
const MAPPED_AT = 0x40_0000n;
const LENGTH = 0x10_0000n;
/** An offset in the function of {@link oneFunction}. */
export const IN_WORK = 0x90n;

/** A mapped file with samples. */
export interface MappedObject {
  readonly path: string;
  /** Build id in hex, if it was recorded. */
  readonly buildId?: string;
  /** Number of samples, 20 by default. */
  readonly samples?: number;
  /** Offset of the samples in the file; by default in the function of {@link oneFunction}. */
  readonly offset?: bigint;
  /** Several offsets instead, each with its number of samples. */
  readonly offsets?: readonly bigint[];
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** A recording of one process with samples in each of the objects. */
export async function mappedRecording(...objects: readonly MappedObject[]): Promise<Uint8Array> {
  const flags = { ...emptyAttr().flags, sample_id_all: true, mmap2: true, build_id: true };
  // IP, TID, TIME
  const attr = { ...emptyAttr(), size: 120, sample_type: 7n, sample_period: 3n, flags };
  const from = (i: number): bigint => MAPPED_AT + LENGTH * BigInt(i);
  const maps = objects.map(({ path, buildId }, i) => ({
    record: {
      type: 10,
      name: "MMAP2",
      // PERF_RECORD_MISC_MMAP_BUILD_ID
      misc: 2 | (buildId === undefined ? 0 : 1 << 14),
      body: {
        ...{ pid: 7, tid: 7, addr: from(i), len: LENGTH, pgoff: 0n },
        ...(buildId === undefined
          ? { maj: 8, min: 1, ino: 99n, ino_generation: 0n }
          : { build_id_size: 20, __reserved_1: 0, __reserved_2: 0, build_id: bytesOf(buildId) }),
        ...{ prot: 5, flags: 2, filename: path },
      },
    },
  } as Item));
  let time = 0n;
  const samples = objects.flatMap(({ samples = 20, offset = IN_WORK, offsets = [offset] }, i) =>
    offsets.flatMap((offset) =>
      Array.from({ length: samples }, () => ({
        record: {
          type: 9,
          name: "SAMPLE",
          misc: 2,
          body: { ip: from(i) + offset, pid: 7, tid: 7, time: time += 1000n },
        },
      } as Item))
    )
  );
  return await asFile(
    { events: [{ attr, ids: [1n] }], items: [...maps, ...samples], features: [] },
    true,
  );
}

/** Contents of a program besides the function `work`. */
export interface ProgramParts {
  readonly buildId?: string;
  readonly sections?: readonly WrittenSection[];
  /** Functions in place of `work`, of 32 bytes each, from {@link IN_WORK} on. */
  readonly names?: readonly string[];
}

/** A program with the function `work` and the given contents. */
export function oneFunction({ buildId, sections = [], names }: ProgramParts): Uint8Array {
  const file = { is64: true, littleEndian: true };
  const { symtab, strtab } = symbolTable(
    file,
    (names ?? ["work"]).map((name, i) => ({
      ...{ name, info: 0x12, shndx: 1 },
      ...(names === undefined
        ? { value: 0x1000n, size: 0x100n }
        : { value: 0x1010n + 32n * BigInt(i), size: 32n }),
    })),
  );
  const note = [4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 0x47, 0x4e, 0x55, 0];
  const noted = buildId === undefined ? [] : [{
    ...{ name: ".note.gnu.build-id", type: 7, flags: 2, addr: 0x2000n },
    bytes: Uint8Array.of(...note, ...bytesOf(buildId)),
  }];
  return writeElf({
    ...file,
    type: 3,
    machine: 62,
    sections: [
      { name: ".text", type: 1, flags: 6, addr: 0x1000n, bytes: new Uint8Array(0x100) },
      { name: ".symtab", type: 2, bytes: symtab, link: 3, info: 1, entsize: 24 },
      { name: ".strtab", type: 3, bytes: strtab },
      ...noted,
      ...sections,
    ],
    segments: [{ type: 1, flags: 5, offset: 0n, vaddr: 0xf80n, filesz: 0x400n, memsz: 0x400n }],
  });
}
