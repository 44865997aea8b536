import { ATTR_FIELDS, type PerfEventAttr } from "../header/attr.ts";
import type { Residue } from "../struct/cursor.ts";
import {
  array,
  type Codec,
  countedBy,
  counter,
  doc,
  extensible,
  headerString,
  type HiddenCodec,
  struct,
  type StructValue,
  u32,
  u64,
} from "../struct/mod.ts";

/** An event of the EVENT_DESC section. */
export interface EventDesc {
  /** Definition of the event and of its samples. */
  attr: PerfEventAttr;
  /** The event as given with `-e`, or the name that perf gave it. */
  name: string;
  /** Padding of `name` if it is not the usual zeros. */
  name_pad?: Residue;
  /** Sample ids, one for each CPU or thread. */
  ids: bigint[];
}

const eventDesc: Codec<EventDesc> = struct("event_desc", {
  attr: doc(
    "Definition of the event and of its samples.",
    extensible("perf_event_attr", ATTR_FIELDS, { field: "../attr_size" }),
  ),
  nr_ids: doc("Number of ids.", counter(u32, "ids")),
  name: doc(
    "The event as given with `-e`, or the name that perf gave it.",
    headerString,
  ),
  ids: doc(
    "Values of PERF_SAMPLE_ID in the samples of this event: an id for each CPU or thread.",
    array(u64, countedBy("nr_ids")),
  ),
});

/** The fields of EVENT_DESC. */
export const EVENT_DESC_FIELDS = {
  nr_events: [counter(u32, "events") as HiddenCodec, "Number of events."],
  attr_size: [u32, "Bytes of each attr in this section, whatever its own `size`."],
  events: [
    array(eventDesc, countedBy("nr_events")) as Codec<EventDesc[]>,
    "The events in the order of their attrs in the file.",
  ],
} as const;

/** EVENT_DESC: attrs, ids and names of the events. */
export type EventDescs = StructValue<typeof EVENT_DESC_FIELDS>;

export const eventDescs: Codec<EventDescs> = struct("event_descs", EVENT_DESC_FIELDS);
