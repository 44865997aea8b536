import type { TracingData } from "../features/tracing_data.ts";
import { parseTracepoint, type TracepointFormat, tracepointHead } from "./format_file.ts";

/**
 * The formats of a recording's tracepoints, by the tracepoint's id: `config` of its attr. A format
 * is parsed when it is first requested.
 */
export class TracepointFormats {
  /** `system:name` of each tracepoint. */
  readonly names: ReadonlyMap<number, string>;
  /** Bytes of a `long` of the recorded kernel. */
  readonly longSize: number;
  /** Byte order of the recorded kernel. */
  readonly littleEndian: boolean;
  readonly #printk: string;
  readonly #texts = new Map<number, string>();
  readonly #parsed = new Map<number, TracepointFormat | undefined>();

  /** Reads the names and ids in the descriptions. */
  constructor(tracing: TracingData) {
    this.longSize = tracing.long_size;
    this.littleEndian = tracing.bigendian === 0;
    this.#printk = tracing.printk_formats;
    const names = new Map<number, string>();
    const ftrace = { name: "ftrace", formats: tracing.ftrace_formats };
    for (const { name: system, formats } of [ftrace, ...tracing.systems]) {
      for (const text of formats) {
        const head = tracepointHead(text);
        if (head === undefined) continue;
        names.set(head.id, `${system}:${head.name}`);
        this.#texts.set(head.id, text);
      }
    }
    this.names = names;
  }

  /** The format of a tracepoint; `undefined` if it is not recorded, or too long. */
  get(id: number): TracepointFormat | undefined {
    if (this.#parsed.has(id)) return this.#parsed.get(id);
    const format = parseTracepoint(this.#texts.get(id) ?? "", this.longSize);
    this.#parsed.set(id, format);
    return format;
  }

  /** Texts of the kernel by address (`printk_formats`): a line is `0xffffffff81c0ffee : "text"`. */
  constants(): Map<bigint, string> {
    const constants = new Map<bigint, string>();
    const lines = /^(?:0x)?([0-9a-f]{1,16})\s*: ?"?(.*?)"?$/gm;
    for (const [, address, quoted] of this.#printk.matchAll(lines)) {
      constants.set(BigInt(`0x${address}`), (quoted as string).replace(/\\n$/, ""));
    }
    return constants;
  }
}
