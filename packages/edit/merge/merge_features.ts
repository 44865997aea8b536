import { encodeFeature, type Feature } from "@perfdata/format/features";
import { longestAttr, type WriterEvent, type WriterFeature } from "@perfdata/format/records";
import {
  featureName,
  HEADER_AUXTRACE,
  HEADER_BUILD_ID,
  HEADER_DIR_FORMAT,
  HEADER_EVENT_DESC,
  HEADER_GROUP_DESC,
  HEADER_SAMPLE_TIME,
} from "@perfdata/format/constants";

import { Part } from "./merge_part.ts";
/** The features of the result. */
export class Features {
  readonly #parts: readonly Part[];
  readonly #events: readonly WriterEvent[];
  readonly #numbers: readonly (readonly number[])[];
  readonly #losses: string[];

  constructor(
    parts: readonly Part[],
    events: readonly WriterEvent[],
    numbers: readonly (readonly number[])[],
    losses: string[],
  ) {
    this.#parts = parts;
    this.#events = events;
    this.#numbers = numbers;
    this.#losses = losses;
  }

  early(): Promise<WriterFeature[]> {
    const [first] = this.#parts as [Part];
    const littleEndian = first.input.reader.littleEndian;
    const ids = new Set(this.#parts.flatMap(({ features }) => [...features.keys()]));
    const features: WriterFeature[] = [];
    // The output creates the AUXTRACE index; the result is not a directory.
    ids.delete(HEADER_AUXTRACE);
    ids.delete(HEADER_DIR_FORMAT);
    for (const id of [...ids].sort((a, b) => a - b)) {
      const own = this.#uniteValues(id);
      if (own !== undefined) {
        features.push({ id, bytes: encodeFeature(own, { littleEndian }) });
        continue;
      }
      // Groups refer to events by index, which changes in the result.
      if (id === HEADER_GROUP_DESC && this.#parts.length > 1) {
        this.#losses.push("GROUP_DESC: groups of events are left out");
        continue;
      }
      const having = this.#parts.filter(({ features }) => features.has(id));
      const bytes = having[0]?.features.get(id) as Uint8Array;
      const others = having.filter(({ features }) => !same(features.get(id), bytes)).length;
      if (others > 0) {
        const name = featureName(id);
        this.#losses.push(
          `${name}: that of ${having[0]?.input.name}; ${others} ${
            others === 1 ? "other differs" : "others differ"
          }`,
        );
      }
      features.push({ id, bytes });
    }
    return Promise.resolve(features);
  }

  #uniteValues(id: number): Feature | undefined {
    const values = this.#parts.map((part) => part.feature(id));
    if (id === HEADER_BUILD_ID) {
      const seen = new Map<string, unknown>();
      for (const value of values as (Readonly<Record<string, unknown>>[] | undefined)[]) {
        for (const entry of value ?? []) {
          seen.set(`${entry["filename"]}\0${entry["build_id"]}\0${entry["misc"]}`, entry);
        }
      }
      return { id, name: "BUILD_ID", value: [...seen.values()] } as unknown as Feature;
    }
    if (id === HEADER_SAMPLE_TIME) {
      const times =
        (values as ({ first_sample_time: bigint; last_sample_time: bigint } | undefined)[])
          .flatMap((value, i) =>
            value === undefined || value.last_sample_time === 0n ? [] : [
              value.first_sample_time + (this.#parts[i]?.timeOffset ?? 0n),
              value.last_sample_time + (this.#parts[i]?.timeOffset ?? 0n),
            ]
          );
      const value = {
        first_sample_time: times.reduce((a, b) => b < a ? b : a, times[0] ?? 0n),
        last_sample_time: times.reduce((a, b) => b > a ? b : a, 0n),
      };
      return { id, name: "SAMPLE_TIME", value } as unknown as Feature;
    }
    return id === HEADER_EVENT_DESC ? this.#eventDesc(values) : undefined;
  }

  #eventDesc(values: readonly unknown[]): Feature {
    const names: string[] = [];
    for (const [i, value] of values.entries()) {
      const descs = (value as { events: readonly { name: string }[] } | undefined)?.events ?? [];
      descs.forEach(({ name }, j) => {
        const number = this.#numbers[i]?.[j];
        if (number !== undefined) names[number] ??= name;
      });
    }
    const size = longestAttr(this.#events);
    const value = {
      attr_size: size,
      events: this.#events.map(({ attr, ids = [] }, i) => ({ attr, name: names[i] ?? "", ids })),
    };
    return { id: HEADER_EVENT_DESC, name: "EVENT_DESC", value } as unknown as Feature;
  }
}

function same(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && a.length === b.length && a.every((byte, i) => byte === b[i]);
}
