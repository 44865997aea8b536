import { PERF_RECORD_LOST } from "@perfdata/format/constants";
import { putAscii, putDecimal64 } from "@perfdata/format/bytes";
import type { RecordBytes } from "@perfdata/session";
import { kernelField, putKernelText } from "../text/kernel_text.ts";
import { dumpRecordName } from "./perf_record_names.ts";

const encoder = new TextEncoder();
const NO_EVENT = { id: -1n, eventName: "", readFormat: 0, symbol: undefined };
/** Room for the text of a record, besides four characters for each of its bytes. */
const ROOM = 1024;

/**
 * The text of kernel records that `perf script --show-mmap-events` and similar options print after
 * the time.
 */
export class RecordLines {
  #bytes = new Uint8Array(ROOM);
  #view = new DataView(this.#bytes.buffer);

  /** Name and fields of a record other than a sample, with a newline; valid until the next call. */
  text(record: RecordBytes, start: number, end: number, littleEndian: boolean): Uint8Array {
    const room = ROOM + 4 * (end - start);
    if (room > this.#bytes.length) {
      this.#bytes = new Uint8Array(2 * room);
      this.#view = new DataView(this.#bytes.buffer);
    }
    const type = record.view.getInt32(start, littleEndian);
    const name = encoder.encode(`PERF_RECORD_${dumpRecordName(type)}`);
    this.#bytes.set(name);
    if (type === PERF_RECORD_LOST) {
      // Only LOST_SAMPLES has another text in perf report -D.
      const at = start + kernelField(type, "lost").offset;
      if (at + 8 > end) return encoder.encode("\n");
      const { view } = record;
      const hi = view.getInt32(littleEndian ? at + 4 : at, littleEndian);
      const lo = view.getInt32(littleEndian ? at : at + 4, littleEndian);
      const p = putAscii(this.#view, name.length, " lost ");
      return this.#bytes.subarray(
        0,
        putAscii(this.#view, putDecimal64(this.#view, p, hi, lo), "\n"),
      );
    }
    const span = { source: record, start, end };
    const p = putKernelText(this.#view, name.length, span, littleEndian, NO_EVENT);
    return this.#bytes.subarray(0, p);
  }
}

/**
 * Process and thread in a record's own fields, and the offset of its time or -1; `undefined` if it
 * has none, or is truncated.
 */
export function recordThread(
  { view }: RecordBytes,
  start: number,
  end: number,
  littleEndian: boolean,
): { readonly pid: number; readonly tid: number; readonly timeAt: number } | undefined {
  const type = view.getInt32(start, littleEndian);
  let fields = THREAD_FIELDS.get(type);
  if (fields === undefined) THREAD_FIELDS.set(type, fields = threadFields(type));
  if (fields === null || start + fields.end > end) return undefined;
  return {
    pid: view.getInt32(start + fields.pid, littleEndian),
    tid: view.getInt32(start + fields.tid, littleEndian),
    timeAt: fields.time >= 0 && start + fields.time + 8 <= end ? start + fields.time : -1,
  };
}

interface ThreadFields {
  readonly pid: number;
  readonly tid: number;
  readonly end: number;
  readonly time: number;
}

const THREAD_FIELDS = new Map<number, ThreadFields | null>();

function threadFields(type: number): ThreadFields | null {
  const at = (name: string): number => {
    try {
      return kernelField(type, name).offset;
    } catch (error) {
      if (error instanceof RangeError) return -1;
      throw error;
    }
  };
  const [pid, tid, time] = [at("pid"), at("tid"), at("time")];
  return pid < 0 || tid < 0 ? null : { pid, tid, time, end: Math.max(pid, tid) + 4 };
}
