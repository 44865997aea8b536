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
  /** What the event counts and what its samples hold. */
  attr: PerfEventAttr;
  /** The event as it was given with `-e`, or the name that perf made up for it. */
  name: string;
  /** Padding of `name` where it is not the usual zeros. */
  name_pad?: Residue;
  /** Ids of its samples, one for each CPU or thread. */
  ids: bigint[];
}

const eventDesc: Codec<EventDesc> = struct("event_desc", {
  attr: doc(
    "What the event counts and what its samples hold.",
    extensible("perf_event_attr", ATTR_FIELDS, { field: "../attr_size" }),
  ),
  nr_ids: doc("Number of ids.", counter(u32, "ids")),
  name: doc(
    "The event as it was given with `-e`, or the name that perf made up for it.",
    headerString,
  ),
  ids: doc(
    "What PERF_SAMPLE_ID says in the samples of this event: an id for each CPU or thread.",
    array(u64, countedBy("nr_ids")),
  ),
});

/** The fields of EVENT_DESC. */
export const EVENT_DESC_FIELDS = {
  nr_events: [counter(u32, "events") as HiddenCodec, "Number of events."],
  attr_size: [u32, "Bytes that each attr takes up, whatever its own `size` says."],
  events: [
    array(eventDesc, countedBy("nr_events")) as Codec<EventDesc[]>,
    "The events in the order of their attrs in the file.",
  ],
} as const;

/** EVENT_DESC: attrs, ids and names of the events. */
export type EventDescs = StructValue<typeof EVENT_DESC_FIELDS>;

/** EVENT_DESC. */
export const eventDescs: Codec<EventDescs> = struct("event_descs", EVENT_DESC_FIELDS);
