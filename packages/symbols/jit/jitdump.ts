import { type Address, addressFromHalves } from "../resolver/address.ts";
import { type BinarySource } from "../files/binary_source.ts";
import { decodeName } from "../elf/strings.ts";
import { SymbolsError } from "../errors.ts";

/** A jitdump file is malformed or truncated. */
export class JitdumpError extends SymbolsError {
  /** The name of the class. */
  override name = "JitdumpError";
}

/** `struct jitheader`. */
export interface JitdumpHeader {
  /** Byte order of the whole file. */
  readonly littleEndian: boolean;
  /** Format version: 1. */
  readonly version: number;
  /** Size of the header in bytes. */
  readonly totalSize: number;
  /** ELF machine of the code (`EM`). CPython 3.13.0 writes 0: assume the recording's machine. */
  readonly machine: number;
  /** Id of the process that wrote the file. */
  readonly pid: number;
  /** Start time of the process in nanoseconds. */
  readonly timestamp: bigint;
  /** Bit 0: timestamps use the architecture's counter (TSC), not `CLOCK_MONOTONIC`. */
  readonly flags: bigint;
}

/** Header of every record: `struct jr_prefix`. */
export interface JitRecordPrefix {
  /** Byte offset of the record in the file. */
  readonly offset: number;
  /** Size of the record in bytes. */
  readonly totalSize: number;
  /** Time of the record, in the clock that the header's flags state. */
  readonly timestamp: bigint;
}

/** `JIT_CODE_LOAD`: code was compiled. */
export interface JitCodeLoad extends JitRecordPrefix {
  /** `JIT_CODE_LOAD`. */
  readonly id: 0;
  /** Process of the code. */
  readonly pid: number;
  /** Id of the thread that compiled it. */
  readonly tid: number;
  /** Virtual address of the code, usually equal to `codeAddr`. */
  readonly vma: Address;
  /** Address of the code. */
  readonly codeAddr: Address;
  /** Size of the code in bytes. */
  readonly codeSize: number;
  /** Number of the code, unique in the file (64 bits). */
  readonly codeIndex: bigint;
  /** Name of the function. */
  readonly name: string;
  /** Byte offset of the machine code in the file. */
  readonly codeOffset: number;
}

/** `JIT_CODE_MOVE`: code was moved to another address. */
export interface JitCodeMove extends JitRecordPrefix {
  /** `JIT_CODE_MOVE`. */
  readonly id: 1;
  /** Process of the code. */
  readonly pid: number;
  /** Id of the thread that moved it. */
  readonly tid: number;
  /** Virtual address of the code. */
  readonly vma: Address;
  /** Old address. */
  readonly oldCodeAddr: Address;
  /** New address. */
  readonly newCodeAddr: Address;
  /** Size of the code in bytes. */
  readonly codeSize: number;
  /** Number from the `JIT_CODE_LOAD`. */
  readonly codeIndex: bigint;
}

/** One row of a line table: `struct debug_entry`. */
export interface JitLine {
  /** First address of the row. */
  readonly address: Address;
  /** Line number, from 1. */
  readonly line: number;
  /** Column or discriminator; usually 0. */
  readonly discriminator: number;
  /** Source file. */
  readonly file: string;
}

/** `JIT_CODE_DEBUG_INFO`: the lines of the code whose `JIT_CODE_LOAD` follows. */
export interface JitCodeDebugInfo extends JitRecordPrefix {
  /** `JIT_CODE_DEBUG_INFO`. */
  readonly id: 2;
  /** Address of the code. */
  readonly codeAddr: Address;
  /** Rows in file order. */
  readonly lines: readonly JitLine[];
}

/** `JIT_CODE_CLOSE`: the file is complete. */
export interface JitCodeClose extends JitRecordPrefix {
  /** `JIT_CODE_CLOSE`. */
  readonly id: 3;
}

/** `JIT_CODE_UNWINDING_INFO`: the unwind tables of the code whose `JIT_CODE_LOAD` follows. */
export interface JitCodeUnwindingInfo extends JitRecordPrefix {
  /** `JIT_CODE_UNWINDING_INFO`. */
  readonly id: 4;
  /** Size of `.eh_frame_hdr` in bytes. */
  readonly ehFrameHdrSize: number;
  /** Size of the part that is mapped at run time. */
  readonly mappedSize: number;
  /** `.eh_frame` followed by `.eh_frame_hdr`. */
  readonly unwindingData: Uint8Array;
}

/** A record of an unknown type. */
export interface JitUnknownRecord extends JitRecordPrefix {
  /** −1 instead of a known record id; `type` has the id in the file. */
  readonly id: -1;
  /** The unknown type. */
  readonly type: number;
}

/** Any record of a jitdump file. */
export type JitRecord =
  | JitCodeLoad
  | JitCodeMove
  | JitCodeDebugInfo
  | JitCodeClose
  | JitCodeUnwindingInfo
  | JitUnknownRecord;

/** An opened jitdump file. */
export interface Jitdump {
  /** The file header. */
  readonly header: JitdumpHeader;
  /**
   * Reads all records, without the machine code.
   *
   * @throws {JitdumpError} At a malformed record. A truncated last record only ends the iteration,
   * since the process may still be writing; `onCut` receives its offset
   */
  records(onCut?: (offset: number) => void): Generator<JitRecord>;
}

const MAGIC = 0x4a695444;
const HEADER_SIZE = 40;
const PREFIX_SIZE = 16;
/** Limit of the size of debug and unwinding records. */
const MAX_RECORD = 1 << 28;

/**
 * Opens a jitdump file (`jit-PID.dump`) of either byte order.
 *
 * The format is tools/perf/Documentation/jitdump-specification.txt.
 *
 * @throws {JitdumpError} If it is not a jitdump file.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/symbols/resolver";
 * import { openJitdump } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = new Uint8Array(40 + 16);
 * const view = new DataView(bytes.buffer);
 * view.setUint32(0, 0x4a695444, true); // magic
 * view.setUint32(4, 1, true); // version
 * view.setUint32(8, 40, true); // total_size
 * view.setUint32(40, 3, true); // JIT_CODE_CLOSE
 * view.setUint32(44, 16, true); // total_size
 * const ids = Array.from(openJitdump(bytesSource(bytes)).records(), (record) => record.id);
 * assertEquals(ids, [3]);
 * ```
 */
export function openJitdump(source: BinarySource): Jitdump {
  if (source.size < HEADER_SIZE) {
    throw new JitdumpError(0, `Not a jitdump file: ${source.size} bytes, its header has 40`);
  }
  const data = view(source.read(0, HEADER_SIZE));
  const magic = data.getUint32(0, true);
  const littleEndian = magic === MAGIC;
  if (!littleEndian && data.getUint32(0, false) !== MAGIC) {
    throw new JitdumpError(
      0,
      `Not a jitdump file: starts with 0x${magic.toString(16)}, not 0x4a695444 in either order`,
    );
  }
  const header: JitdumpHeader = {
    littleEndian,
    version: data.getUint32(4, littleEndian),
    totalSize: data.getUint32(8, littleEndian),
    machine: data.getUint32(12, littleEndian),
    pid: data.getUint32(20, littleEndian),
    timestamp: data.getBigUint64(24, littleEndian),
    flags: data.getBigUint64(32, littleEndian),
  };
  if (header.totalSize < HEADER_SIZE || header.totalSize > source.size) {
    throw new JitdumpError(
      8,
      `Jitdump header of ${header.totalSize} bytes: expected 40 to ${source.size}`,
    );
  }
  return { header, records: (onCut) => readRecords(source, header, onCut) };
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function* readRecords(
  source: BinarySource,
  header: JitdumpHeader,
  onCut: ((offset: number) => void) | undefined,
): Generator<JitRecord> {
  const le = header.littleEndian;
  let offset = header.totalSize;
  while (offset < source.size) {
    if (offset + PREFIX_SIZE > source.size) {
      onCut?.(offset);
      return;
    }
    const prefix = view(source.read(offset, PREFIX_SIZE));
    const type = prefix.getUint32(0, le);
    const totalSize = prefix.getUint32(4, le);
    if (totalSize < PREFIX_SIZE) {
      throw new JitdumpError(
        offset,
        `Jitdump record of type ${type} with ${totalSize} bytes: expected at least 16`,
      );
    }
    if (offset + totalSize > source.size) {
      onCut?.(offset);
      return;
    }
    const common = { offset, totalSize, timestamp: prefix.getBigUint64(8, le) };
    yield readRecord(source, le, type, common);
    offset += totalSize;
  }
}

function readRecord(
  source: BinarySource,
  le: boolean,
  type: number,
  common: JitRecordPrefix,
): JitRecord {
  const { offset, totalSize } = common;
  const need = (bytes: number, what: string): void => {
    if (totalSize < bytes || (type !== 0 && totalSize > MAX_RECORD)) {
      throw new JitdumpError(
        offset,
        `Jitdump record ${what} of ${totalSize} bytes: expected ${bytes} to ${MAX_RECORD}`,
      );
    }
  };
  switch (type) {
    case 0: {
      need(57, "JIT_CODE_LOAD");
      const data = view(source.read(offset, 56));
      const codeSize = unsigned(data, 40, le);
      const nameSize = totalSize - 56 - codeSize;
      if (nameSize < 1) {
        throw new JitdumpError(
          offset,
          `JIT_CODE_LOAD of ${totalSize} bytes with ${codeSize} bytes of code: no room for a name`,
        );
      }
      const name = source.read(offset + 56, Math.min(nameSize, 65536));
      const end = name.indexOf(0);
      const nameLength = end < 0 ? name.length : end;
      return {
        id: 0,
        ...common,
        pid: data.getUint32(16, le),
        tid: data.getUint32(20, le),
        vma: address(data, 24, le),
        codeAddr: address(data, 32, le),
        codeSize,
        codeIndex: data.getBigUint64(48, le),
        name: decodeName(name, 0, nameLength),
        codeOffset: offset + totalSize - codeSize,
      };
    }
    case 1: {
      need(64, "JIT_CODE_MOVE");
      const data = view(source.read(offset, 64));
      return {
        id: 1,
        ...common,
        pid: data.getUint32(16, le),
        tid: data.getUint32(20, le),
        vma: address(data, 24, le),
        oldCodeAddr: address(data, 32, le),
        newCodeAddr: address(data, 40, le),
        codeSize: unsigned(data, 48, le),
        codeIndex: data.getBigUint64(56, le),
      };
    }
    case 2: {
      need(32, "JIT_CODE_DEBUG_INFO");
      const bytes = source.read(offset, totalSize);
      return {
        id: 2,
        ...common,
        codeAddr: address(view(bytes), 16, le),
        lines: readLines(bytes, offset, le),
      };
    }
    case 3:
      return { id: 3, ...common };
    case 4: {
      need(40, "JIT_CODE_UNWINDING_INFO");
      const bytes = source.read(offset, totalSize);
      const data = view(bytes);
      const size = unsigned(data, 16, le);
      if (size > totalSize - 40) {
        throw new JitdumpError(
          offset,
          `JIT_CODE_UNWINDING_INFO of ${totalSize} bytes with ${size} bytes of data`,
        );
      }
      return {
        id: 4,
        ...common,
        ehFrameHdrSize: unsigned(data, 24, le),
        mappedSize: unsigned(data, 32, le),
        unwindingData: bytes.slice(40, 40 + size),
      };
    }
    default:
      return { id: -1, type, ...common };
  }
}

function readLines(bytes: Uint8Array, offset: number, le: boolean): JitLine[] {
  const data = view(bytes);
  const count = unsigned(data, 24, le);
  const lines: JitLine[] = [];
  let file = "";
  let at = 32;
  for (let i = 0; i < count; i++) {
    const end = at + 16 < bytes.length ? bytes.indexOf(0, at + 16) : -1;
    if (end < 0) {
      throw new JitdumpError(
        offset + at,
        `JIT_CODE_DEBUG_INFO with ${count} entries ends in entry ${i}`,
      );
    }
    // 0xff alone means the previous entry's file.
    const same = end === at + 17 && bytes[at + 16] === 0xff;
    if (!same) file = decodeName(bytes, at + 16, end);
    lines.push({
      address: address(data, at, le),
      line: data.getInt32(at + 8, le),
      discriminator: data.getInt32(at + 12, le),
      file,
    });
    at = end + 1;
  }
  return lines;
}

function address(data: DataView, at: number, le: boolean): Address {
  return addressFromHalves(
    data.getUint32(le ? at + 4 : at, le),
    data.getUint32(le ? at : at + 4, le),
  );
}

function unsigned(data: DataView, at: number, le: boolean): number {
  return data.getUint32(le ? at + 4 : at, le) * 4294967296 +
    data.getUint32(le ? at : at + 4, le);
}
