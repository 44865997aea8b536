import {
  array,
  type Codec,
  decode,
  type PerfDataReader,
  perfEventAttr,
  perfFileHeader,
  perfFileSection,
  perfPipeFileHeader,
  perfTraceEventType,
  prefixSize,
  type Region,
  struct,
  u64,
} from "@perfdata/format/records";
import { featureName } from "@perfdata/format/constants";
import { FEATURES } from "@perfdata/format/features";
import { PerfDataError } from "@perfdata/format/bytes";
import { type HexRun, MAX_STRUCTURE } from "./hex_run.ts";
import type { HexParts } from "./hex_parts.ts";
import { LeafTrace } from "./hex_tree.ts";

/** The runs of a region other than the data section. */
export async function* regionRuns(
  parts: HexParts,
  region: Region,
): AsyncGenerator<Iterable<HexRun>, void, void> {
  const { kind, offset, size, index = 0 } = region;
  const end = offset + size;
  if (!parts.touches(offset, end)) return;
  if (kind === "gap" || size > MAX_STRUCTURE) {
    yield* parts.plain(kind === "gap" ? "gap" : `${kind}[${index}]`, "", offset, end);
    return;
  }
  const bytes = await parts.reader.readSection(offset, size, kind);
  const { littleEndian } = parts.reader;
  const traced = (
    owner: string,
    decodeTraced: (bytes: Uint8Array, options: Parameters<typeof decode>[2]) => unknown,
    from = 0,
    to = size,
  ): Generator<HexRun, void, void> => {
    const part = bytes.subarray(from, to);
    const base = offset + from;
    const trace = new LeafTrace(base);
    let error: PerfDataError | undefined;
    try {
      decodeTraced(part, { littleEndian, base, trace });
    } catch (cause) {
      if (!(cause instanceof PerfDataError)) throw cause;
      error = cause;
    }
    return parts.structure(owner, part, base, trace, { error });
  };
  const as = (codec: Codec<unknown>): Parameters<typeof traced>[1] => (part, options) =>
    decode(codec, part, options);
  switch (kind) {
    case "header":
      yield traced("header", as(parts.reader.isPipe ? perfPipeFileHeader : perfFileHeader));
      break;
    case "attrs": {
      const entry = Number(parts.reader.header?.attr_size ?? 0);
      let at = 0;
      if (entry >= 24) {
        const file = struct("perf_file_attr", {
          attr: perfEventAttr(entry - 16),
          ids: perfFileSection,
        });
        for (let i = 0; at + entry <= size; i++, at += entry) {
          yield traced(`attrs[${i}]`, as(file), at, at + entry);
        }
      }
      yield traced("attrs", () => {}, at);
      break;
    }
    case "ids":
      yield traced(`ids[${index}]`, as(array(u64, "rest")));
      break;
    case "event_types":
      yield traced("event_types", as(array(perfTraceEventType, "rest")));
      break;
    case "feature_table":
      for (let i = 0, at = 0; at < size; i++, at += 16) {
        const id = parts.reader.listedFeatures[i]?.id ?? -1;
        const owner = `feature_table[${i}] ${featureName(id)}`;
        yield traced(owner, as(perfFileSection), at, Math.min(at + 16, size));
      }
      break;
    default:
      yield traced(
        `feature ${featureName(index)}`,
        (part, options) => decodeSection(index, part, options),
      );
  }
}

/**
 * Decodes a feature section for its trace. A section that is a single value gets a field for it.
 *
 * @throws {PerfDataError} If the bytes are not such a section.
 */
export function decodeSection(
  id: number,
  bytes: Uint8Array,
  options: Parameters<typeof decode>[2],
): void {
  const codec = FEATURES.find((feature) => feature.id === id)?.codec as Codec<unknown> | undefined;
  if (codec === undefined) return;
  const { as } = codec.display;
  const fields = as === "struct" || as === "array" ? codec : struct("feature", { value: codec });
  decode(fields as Codec<unknown>, bytes, options);
}

/** Offset in the header of each section's position. */
const DECLARED_AT: Readonly<Record<string, number>> = { attrs: 24, data: 40, event_types: 56 };

/** Errors in sections' positions, at the header fields that state them. */
export function layoutProblems(reader: PerfDataReader): { offset: number; message: string }[] {
  const { header, layout } = reader;
  if (header === undefined) return [];
  const entry = Number(header.attr_size);
  const attrsAt = Number(header.attrs.offset);
  const problems = layout.conflicts.map(({ wanted, reason }) => {
    const { kind, index = 0, offset, size } = wanted;
    const feature = reader.listedFeatures.findIndex(({ id }) => id === index);
    const at = kind === "ids"
      ? attrsAt + (index + 1) * entry - prefixSize(perfFileSection)
      : kind === "feature"
      ? reader.data.offset + reader.data.size + prefixSize(perfFileSection) * feature
      : DECLARED_AT[kind] ?? offset;
    const name = kind === "feature" ? `feature ${featureName(index)}` : kind;
    return {
      offset: at,
      message: `${name}: ${size} bytes at 0x${offset.toString(16)}: ${reason}`,
    };
  });
  if (entry > 0 && header.attrs.size % header.attr_size !== 0n) {
    problems.push({
      offset: DECLARED_AT["attrs"] as number + 8,
      message: `attrs: ${header.attrs.size} bytes, expected a multiple of attr_size, ${entry}`,
    });
  }
  reader.events.all.forEach(({ attr }, i) => {
    if (attr.size > entry - 16) {
      problems.push({
        offset: attrsAt + i * entry + 4,
        message: `perf_event_attr.size: ${attr.size}, attr_size has room for ${entry - 16}`,
      });
    }
  });
  return problems;
}
