// For tests: writes ELF files of either class and byte order.

export interface WrittenSection {
  readonly name: string;
  readonly type: number;
  readonly flags?: number;
  readonly addr?: bigint;
  readonly bytes: Uint8Array;
  readonly link?: number;
  readonly info?: number;
  readonly entsize?: number;
  readonly addralign?: number;
}

export interface WrittenSymbol {
  readonly name: string;
  readonly value: bigint;
  readonly size: bigint;
  readonly info: number;
  readonly other?: number;
  readonly shndx: number;
}

export interface WrittenFile {
  readonly is64: boolean;
  readonly littleEndian: boolean;
  readonly type: number;
  readonly machine: number;
  readonly sections: readonly WrittenSection[];
  readonly segments?: readonly {
    readonly type: number;
    readonly flags: number;
    readonly offset: bigint;
    readonly vaddr: bigint;
    readonly filesz: bigint;
    readonly memsz: bigint;
  }[];
}

/** Appends integers in one byte order and class. */
export class Bytes {
  readonly #bytes: number[] = [];
  readonly #le: boolean;
  readonly #is64: boolean;

  constructor(littleEndian: boolean, is64: boolean) {
    this.#le = littleEndian;
    this.#is64 = is64;
  }

  get length(): number {
    return this.#bytes.length;
  }

  uint(size: number, value: number | bigint): this {
    const digits: number[] = [];
    let rest = BigInt.asUintN(size * 8, BigInt(value));
    for (let i = 0; i < size; i++) {
      digits.push(Number(rest & 0xffn));
      rest >>= 8n;
    }
    this.#bytes.push(...(this.#le ? digits : digits.reverse()));
    return this;
  }

  u8(value: number): this {
    return this.uint(1, value);
  }

  u16(value: number): this {
    return this.uint(2, value);
  }

  u32(value: number | bigint): this {
    return this.uint(4, value);
  }

  u64(value: number | bigint): this {
    return this.uint(8, value);
  }

  /** Appends 4 bytes in a 32-bit file, 8 in a 64-bit one. */
  word(value: number | bigint): this {
    return this.uint(this.#is64 ? 8 : 4, value);
  }

  raw(bytes: Iterable<number>): this {
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  pad(to: number): this {
    while (this.#bytes.length < to) this.#bytes.push(0);
    return this;
  }

  done(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }
}

const encoder = new TextEncoder();

export function symbolTable(
  file: { is64: boolean; littleEndian: boolean },
  symbols: readonly WrittenSymbol[],
): { symtab: Uint8Array; strtab: Uint8Array } {
  const symtab = new Bytes(file.littleEndian, file.is64);
  const strtab = new Bytes(file.littleEndian, file.is64).u8(0);
  const all = [{ name: "", value: 0n, size: 0n, info: 0, shndx: 0 }, ...symbols];
  for (const symbol of all) {
    const { name, value, size, info, shndx } = symbol;
    const other = "other" in symbol ? symbol.other ?? 0 : 0;
    const at = name === "" ? 0 : strtab.length;
    if (name !== "") strtab.raw(encoder.encode(name)).u8(0);
    if (file.is64) symtab.u32(at).u8(info).u8(other).u16(shndx).u64(value).u64(size);
    else symtab.u32(at).u32(value).u32(size).u8(info).u8(other).u16(shndx);
  }
  return { symtab: symtab.done(), strtab: strtab.done() };
}

/** Encodes an ELF file: header, program headers, sections, section headers. */
export function writeElf(file: WrittenFile): Uint8Array {
  const { is64, littleEndian } = file;
  const make = (): Bytes => new Bytes(littleEndian, is64);
  const segments = file.segments ?? [];
  const ehdrSize = is64 ? 64 : 52;
  const phdrSize = is64 ? 56 : 32;
  const names = make().u8(0);
  const nameOffsets = [...file.sections.map((s) => s.name), ".shstrtab"].map((name) => {
    const at = names.length;
    names.raw(encoder.encode(name)).u8(0);
    return at;
  });
  const sections: WrittenSection[] = [
    ...file.sections,
    { name: ".shstrtab", type: 3, bytes: names.done() },
  ];
  let at = ehdrSize + phdrSize * segments.length;
  const offsets = sections.map((section) => {
    at = Math.ceil(at / 16) * 16;
    const offset = at;
    at += section.bytes.length;
    return offset;
  });
  const shoff = Math.ceil(at / 16) * 16;
  const out = make();
  out.raw([0x7f, 0x45, 0x4c, 0x46, is64 ? 2 : 1, littleEndian ? 1 : 2, 1]).pad(16);
  out.u16(file.type).u16(file.machine).u32(1);
  out.word(0).word(segments.length > 0 ? ehdrSize : 0).word(shoff).u32(0);
  out.u16(ehdrSize).u16(phdrSize).u16(segments.length);
  out.u16(is64 ? 64 : 40).u16(sections.length + 1).u16(sections.length);
  for (const s of segments) {
    out.u32(s.type);
    if (is64) out.u32(s.flags);
    out.word(s.offset).word(s.vaddr).word(s.vaddr).word(s.filesz).word(s.memsz);
    if (!is64) out.u32(s.flags);
    out.word(0x1000);
  }
  sections.forEach((section, i) => out.pad(offsets[i] ?? 0).raw(section.bytes));
  out.pad(shoff).raw(new Uint8Array(is64 ? 64 : 40));
  sections.forEach((s, i) => {
    out.u32(nameOffsets[i] ?? 0).u32(s.type).word(s.flags ?? 0).word(s.addr ?? 0n);
    out.word(offsets[i] ?? 0).word(s.bytes.length).u32(s.link ?? 0).u32(s.info ?? 0);
    out.word(s.addralign ?? 1).word(s.entsize ?? 0);
  });
  return out.done();
}
