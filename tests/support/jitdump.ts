/** A jitdump file of a process, written record by record. */
export class JitdumpWriter {
  readonly #parts: Uint8Array[] = [];
  readonly #pid: number;
  #index = 0n;

  /**
   * Writes the header.
   *
   * @param flags 1 if times are those of the CPU's counter
   */
  constructor(pid: number, flags = 0n) {
    this.#pid = pid;
    const header = new DataView(new ArrayBuffer(40));
    header.setUint32(0, 0x4a695444, true);
    header.setUint32(4, 1, true);
    header.setUint32(8, 40, true);
    header.setUint32(12, 62, true);
    header.setUint32(20, pid, true);
    header.setBigUint64(32, flags, true);
    this.#parts.push(new Uint8Array(header.buffer));
  }

  /** Writes JIT_CODE_LOAD; returns the index of the code. */
  load(time: bigint, address: bigint, name: string, code: Uint8Array): bigint {
    const index = this.#index++;
    const body = this.#body([address, address, BigInt(code.length), index]);
    this.#record(0, time, [body, new TextEncoder().encode(`${name}\0`), code]);
    return index;
  }

  /** Writes JIT_CODE_MOVE. */
  move(time: bigint, index: bigint, from: bigint, to: bigint, size: bigint): void {
    this.#record(1, time, [this.#body([to, from, to, size, index])]);
  }

  /** Writes JIT_CODE_DEBUG_INFO: addresses, line numbers and files of the next loaded code. */
  lines(time: bigint, address: bigint, rows: readonly (readonly [bigint, number, string])[]): void {
    const parts = rows.flatMap(([at, line, file]) => [
      new Uint8Array(BigUint64Array.of(at, BigInt(line)).buffer),
      new TextEncoder().encode(`${file}\0`),
    ]);
    const head = BigUint64Array.of(address, BigInt(rows.length));
    this.#record(2, time, [new Uint8Array(head.buffer), ...parts]);
  }

  /** Writes JIT_CODE_UNWINDING_INFO: `.eh_frame` of the next loaded code. */
  unwinding(time: bigint, ehFrame: Uint8Array): void {
    const sizes = new BigUint64Array([BigInt(ehFrame.length), 0n, BigInt(ehFrame.length)]);
    this.#record(4, time, [new Uint8Array(sizes.buffer), ehFrame]);
  }

  /** The bytes of the file. */
  get bytes(): Uint8Array {
    return joined(this.#parts);
  }

  #body(words: readonly bigint[]): Uint8Array {
    const ids = BigInt(this.#pid);
    return new Uint8Array(BigUint64Array.from([ids << 32n | ids, ...words]).buffer);
  }

  #record(id: number, time: bigint, parts: readonly Uint8Array[]): void {
    const head = new DataView(new ArrayBuffer(16));
    head.setUint32(0, id, true);
    head.setUint32(4, 16 + joined(parts).length, true);
    head.setBigUint64(8, time, true);
    this.#parts.push(new Uint8Array(head.buffer), ...parts);
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
