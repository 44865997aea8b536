import { perfEventAttr } from "../attr.ts";
import {
  array,
  choice,
  type Codec,
  countedBy,
  counter,
  doc,
  headerString,
  struct,
  type StructValue,
  u32,
  u64,
} from "../struct.ts";

function eventFields(attrSize: number) {
  return {
    attr: doc("What the event counts and what its samples hold.", perfEventAttr(attrSize)),
    nr_ids: doc("Number of ids.", counter(u32, "ids")),
    name: doc(
      "The event as it was given with `-e`, or the name that perf made up for it.",
      headerString,
    ),
    ids: doc(
      "What PERF_SAMPLE_ID says in the samples of this event: an id for each CPU or thread.",
      array(u64, countedBy("nr_ids")),
    ),
  };
}

/** An event of the EVENT_DESC section. */
export type EventDesc = StructValue<ReturnType<typeof eventFields>>;

const EVENT_DESC_FIELDS = {
  nr_events: doc("Number of events.", counter(u32, "events")),
  attr_size: doc("Bytes that each attr takes up, whatever its own `size` says.", u32),
  events: doc(
    "The events in the order of their attrs in the file.",
    choice(
      "event_desc[]",
      (scope): Codec<EventDesc[]> =>
        array(
          struct("event_desc", eventFields(Number(scope["attr_size"]))),
          countedBy("nr_events"),
        ),
    ),
  ),
};

/** EVENT_DESC: attrs, ids and names of the events. */
export type EventDescs = StructValue<typeof EVENT_DESC_FIELDS>;

/** EVENT_DESC. */
export const eventDescs: Codec<EventDescs> = struct("event_descs", EVENT_DESC_FIELDS);
