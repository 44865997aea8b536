import {
  type EventTable,
  KERNEL_RECORDS,
  RecordCodec,
  SampleFields,
} from "@perfdata/format/records";
import {
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { ALL_RECORDS, type KnownDeclaration, USER_RECORDS } from "@perfdata/user-records";

/** Number of successive valid records that end damage. */
export const ENOUGH = 3;
/** Highest known types, and number of unknown types after them that are plausible. */
const LAST_KERNEL_TYPE = Math.max(...KERNEL_RECORDS.map(({ type }) => type));
const LAST_USER_TYPE = Math.max(...USER_RECORDS.map(({ type }) => type));
const LATER = 8;

/**
 * Whether an unknown type may belong to a later Linux, or to simpleperf or hiperf, whose types start at
 * 32768. Few 32-bit numbers match, so other bytes rarely look like such a record.
 */
function isPlausible(type: number, size: number): boolean {
  const isLater = (type < PERF_RECORD_USER_TYPE_START && type <= LAST_KERNEL_TYPE + LATER) ||
    (type >= PERF_RECORD_USER_TYPE_START && type <= LAST_USER_TYPE + LATER);
  return (size & 7) === 0 && type > 0 && (isLater || (type >= 32768 && type <= 32768 + LATER));
}

/** Maximum size of an AUXTRACE payload. */
const MOST_AUX = 1n << 34n;
/** Codec of the known types. Other types are accepted only if their size is plausible. */
export const KNOWN: RecordCodec<KnownDeclaration> = new RecordCodec(ALL_RECORDS);

/** Maximum number of bytes of a kernel record after its fields: fields of a later Linux, and an unknown trailer. */
const MOST_TAIL = 128;

/**
 * Maximum number of bytes after a text that are not all zeros. The kernel pads with zeros to a multiple of eight; other
 * tools write the contents of a buffer of TASK_COMM_LEN bytes.
 */
const MOST_PADDING = 16;

/**
 * Whether a record has more bytes after its fields, or after its last text, than the kernel writes: then
 * its size is damaged and includes the records after it.
 */
function swallows({ tail, body }: { readonly tail?: Uint8Array; readonly body: object }): boolean {
  if (tail !== undefined && tail.length > MOST_TAIL) return true;
  for (const [name, value] of Object.entries(body)) {
    if (!/_pad$|^padding$/.test(name) || !(value instanceof Uint8Array)) continue;
    if (value.length > MOST_PADDING && value.some((byte) => byte !== 0)) return true;
  }
  return false;
}

/**
 * Distinguishes valid from damaged records. A valid record has a known type, and its parts fill it: a sample by the
 * layout of its event, other records by their declarations.
 */
export class Soundness {
  readonly #events: EventTable;
  readonly #littleEndian: boolean;
  readonly #samples: SampleFields[] = [];

  /** Creates a check for records of these events. */
  constructor(events: EventTable, littleEndian: boolean) {
    this.#events = events;
    this.#littleEndian = littleEndian;
  }

  /** Whether the record in `[start, end)` is valid. */
  isSound(view: DataView, bytes: Uint8Array, start: number, end: number): boolean {
    const le = this.#littleEndian;
    const events = this.#events;
    const type = view.getUint32(start, le);
    if (type === PERF_RECORD_SAMPLE) {
      const number = events.indexOf(view, start, end, type, le);
      const event = events.all[number];
      if (event === undefined) return false;
      const fields = this.#samples[number] ??= new SampleFields(event.attr);
      // The kernel pads raw data, and nothing else, so that a sample ends at a multiple of 8.
      return fields.locate(view, start, end, le) && end - fields.end < 8 &&
        // The copied stack cannot exceed the reserved size.
        (fields.stackUserDynSize < 0 ||
          view.getBigUint64(fields.stackUserDynSize, le) <= BigInt(fields.stackUserSize));
    }
    if (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2) return true;
    if (KNOWN.declaration(type) === undefined) return isPlausible(type, end - start);
    const isKernels = type < PERF_RECORD_USER_TYPE_START;
    const event = isKernels ? events.eventOf(view, start, end, type, le) : undefined;
    // The event id is unknown, so it is damaged, and perhaps more.
    if (isKernels && event === undefined && events.all.length > 0) return false;
    const record = KNOWN.decode(bytes.subarray(start, end), { littleEndian: le, event });
    if (record.name === "AUXTRACE") return record.body.size <= MOST_AUX;
    // perf stops reading at an ID_INDEX with an unknown id.
    if (record.name === "ID_INDEX") return record.body.entries.every(({ id }) => this.#hasId(id));
    return !("raw" in record) && !(isKernels && swallows(record));
  }

  #hasId(id: bigint): boolean {
    const { all } = this.#events;
    return all.length === 0 || all.some(({ ids }) => ids.includes(id));
  }
}
