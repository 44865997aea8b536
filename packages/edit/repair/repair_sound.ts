import { type EventTable, KERNEL_RECORDS, RecordCodec } from "@perfdata/format";
import {
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/record-types";
import { SampleFields } from "@perfdata/format/sample-layout";
import { ALL_RECORDS, USER_RECORDS } from "@perfdata/user-records";
import type { KnownDeclaration } from "@perfdata/user-records/all-records";

/** Number of successive valid records after which damage counts as ended. */
export const ENOUGH = 3;
/** The last types that are known here, and how many later ones there may be. */
const LAST_KERNEL_TYPE = Math.max(...KERNEL_RECORDS.map(({ type }) => type));
const LAST_USER_TYPE = Math.max(...USER_RECORDS.map(({ type }) => type));
const LATER = 8;

/**
 * Whether a type that is not known may be one of a later Linux, or of simpleperf and hiperf, which count
 * from 32768 on. Few numbers of 32 bits are: what is not a record hardly ever looks like one of them.
 */
function isPlausible(type: number, size: number): boolean {
  const isLater = (type < PERF_RECORD_USER_TYPE_START && type <= LAST_KERNEL_TYPE + LATER) ||
    (type >= PERF_RECORD_USER_TYPE_START && type <= LAST_USER_TYPE + LATER);
  return (size & 7) === 0 && type > 0 && (isLater || (type >= 32768 && type <= 32768 + LATER));
}

/** Most bytes of one AUXTRACE payload. */
const MOST_AUX = 1n << 34n;
/** Types that are known to be written: the kernel's, and perf's own. Others only where framing is sure. */
export const KNOWN: RecordCodec<KnownDeclaration> = new RecordCodec(ALL_RECORDS);

/** Most bytes of a kernel record after its fields: those of a later Linux, and a trailer that no attr names. */
const MOST_TAIL = 128;

/**
 * Most bytes after a text that are not all zeros. The kernel pads with zeros to a multiple of eight; other
 * tools write what is in their buffer, as long as TASK_COMM_LEN.
 */
const MOST_PADDING = 16;

/**
 * Whether more follows the fields of a record, or the text at its end, than the kernel writes there: then
 * its size is damaged, and it would swallow the records after it.
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
 * Tells sound records from damaged ones: of a known type, and filled by its parts, a sample by the layout
 * of its event, others by their declarations.
 */
export class Soundness {
  readonly #events: EventTable;
  readonly #littleEndian: boolean;
  readonly #samples: SampleFields[] = [];

  /** Judges records of these events. */
  constructor(events: EventTable, littleEndian: boolean) {
    this.#events = events;
    this.#littleEndian = littleEndian;
  }

  /** Whether the record in `[start, end)` is sound. */
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
        // No more of a stack was copied than there was room for.
        (fields.stackUserDynSize < 0 ||
          view.getBigUint64(fields.stackUserDynSize, le) <= BigInt(fields.stackUserSize));
    }
    if (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2) return true;
    if (KNOWN.declaration(type) === undefined) return isPlausible(type, end - start);
    const isKernels = type < PERF_RECORD_USER_TYPE_START;
    const event = isKernels ? events.eventOf(view, start, end, type, le) : undefined;
    // Of no event: its id is damaged, if not more.
    if (isKernels && event === undefined && events.all.length > 0) return false;
    const record = KNOWN.decode(bytes.subarray(start, end), { littleEndian: le, event });
    if (record.name === "AUXTRACE") return record.body.size <= MOST_AUX;
    // perf reads no further where this record names an id that no event has.
    if (record.name === "ID_INDEX") return record.body.entries.every(({ id }) => this.#hasId(id));
    return !("raw" in record) && !(isKernels && swallows(record));
  }

  #hasId(id: bigint): boolean {
    const { all } = this.#events;
    return all.length === 0 || all.some(({ ids }) => ids.includes(id));
  }
}
