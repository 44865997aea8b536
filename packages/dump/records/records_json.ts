import type {
  Codec,
  PerfEvent,
  ReadFormat,
  RecordCodec,
  RecordDeclaration,
  Sample,
  SampleId,
} from "@perfdata/format/records";
import {
  CPUMODE_NAMES,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/constants";
import { decodeFeature } from "@perfdata/format/features";
import { type PerfDataError, putHexBytes, type Residue, type Trace } from "@perfdata/format/bytes";

import { isLastFeature } from "@perfdata/session";

/** Format of 64-bit values other than addresses: exact integers, or integers in quotes. */
export type U64Style = "number" | "string";

/** A field's declaration, with its inner fields. */
export interface FieldNode {
  readonly codec: Codec<unknown> | undefined;
  readonly fields: Map<string, FieldNode>;
}

/** Records the declaration of each part of a decoded value. */
export class FieldTree implements Trace {
  /** The decoded value's declaration. */
  root: FieldNode = { codec: undefined, fields: new Map() };
  readonly #open: FieldNode[] = [];

  clear(): void {
    this.root = { codec: undefined, fields: new Map() };
    this.#open.length = 0;
  }

  begin(name: string, codec: Codec<unknown>): void {
    const node: FieldNode = { codec, fields: new Map() };
    (this.#open.at(-1) ?? this.root).fields.set(name, node);
    this.#open.push(node);
  }

  end(): void {
    this.#open.pop();
  }
}

/** Formats bytes as two lower-case digits each. */
export function hexOf(bytes: Uint8Array): string {
  const digits = new Uint8Array(2 * bytes.length + 8);
  const end = putHexBytes(new DataView(digits.buffer), 0, bytes, 0, bytes.length);
  return new TextDecoder().decode(digits.subarray(0, end));
}

/**
 * Formats a decoded value as JSON: hexadecimal fields as `"0x…"`, other numbers as exact integers,
 * bytes as a string of hexadecimal digits.
 *
 * @param node The declaration, if known.
 */
function valueJson(value: unknown, node: FieldNode | undefined, u64: U64Style): string {
  switch (typeof value) {
    case "bigint":
      if (node?.codec?.display.as === "hex") return `"0x${value.toString(16)}"`;
      return u64 === "string" ? `"${value}"` : value.toString();
    case "number":
      if (node?.codec?.display.as === "hex") return `"0x${value.toString(16)}"`;
      return Number.isFinite(value) ? String(value) : "null";
    case "boolean":
      return String(value);
    case "string":
      return JSON.stringify(value);
    case "undefined":
      return "null";
  }
  if (value instanceof Uint8Array) return `"${hexOf(value)}"`;
  if (Array.isArray(value)) {
    const items = value.map((item, i) => valueJson(item, node?.fields.get(`[${i}]`), u64));
    return `[${items.join(",")}]`;
  }
  const entries = value instanceof Map ? [...value] : Object.entries(value as object);
  const members = entries.filter(([, member]) => member !== undefined).map(([name, member]) =>
    `${JSON.stringify(String(name))}:${valueJson(member, node?.fields.get(String(name)), u64)}`
  );
  return `{${members.join(",")}}`;
}

// deno-lint-ignore no-explicit-any
export type AnyRecordCodec = RecordCodec<RecordDeclaration<string, any>>;

export interface AnyDecoded {
  readonly type: number;
  readonly name: string;
  readonly misc: number;
  readonly body?: unknown;
  readonly sample_id?: SampleId;
  readonly tail?: Uint8Array;
  readonly after?: Uint8Array;
  readonly pad?: Residue;
  readonly raw?: Uint8Array;
  readonly error?: PerfDataError;
}

/** The values of a sample that has them in other fields. */
export interface MeantSample {
  readonly ip: bigint | undefined;
  readonly pid: number;
  readonly tid: number;
  readonly period: bigint;
  readonly callchain: readonly bigint[];
}

/**
 * The real sample of an off-CPU sample in `[start, end)` of `view`; `undefined` for other samples.
 */
export function meantSample(
  event: PerfEvent,
  view: DataView,
  start: number,
  end: number,
  le: boolean,
): MeantSample | undefined {
  const found = event.offCpu(view, start, end, le);
  if (found?.isMeant !== true) return undefined;
  const { ip, pid, tid, period, callchain, callchainLength } = found;
  return {
    ip: ip < 0 ? undefined : view.getBigUint64(ip, le),
    pid,
    tid,
    period: view.getBigUint64(period, le),
    callchain: Array.from(
      { length: callchainLength },
      (_, k) => view.getBigUint64(callchain + 8 * k, le),
    ),
  };
}

/** Data of a line besides the record. */
export interface LineContext {
  readonly name: string;
  /** File offset of the record. */
  readonly offset: number;
  /** Name of a sample's event, if known. */
  readonly event: string | undefined;
  /** Fixed period of a sample that does not record one. */
  readonly period?: bigint | undefined;
  /** The real sample, if it differs from the record's fields. */
  readonly meant?: MeantSample | undefined;
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** Format of 64-bit values. */
  readonly u64: U64Style;
}

/** Name of the CPU mode in `misc`. */
export function cpumodeName(misc: number): string {
  const mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
  return CPUMODE_NAMES[mode] ?? String(mode);
}

/** Members that all samples have, before their other fields. */
export const SAMPLE_FIRST: readonly string[] = [
  "ip",
  "pid",
  "tid",
  "cpu",
  "time",
  "count",
  "period",
];

/** Fields of a record's trailer in a line. */
export const TRAILER = [
  "pid",
  "tid",
  "cpu",
  "time",
  "id",
  "stream_id",
  "identifier",
  "cpu_reserved",
] as const;

/** Whether a record has a feature, which is shown instead of its bytes. */
export function isFeature(name: string): boolean {
  return name === "HEADER_FEATURE";
}

/** The value of the sample's own event among the values read with it. */
function countOf(sample: Sample, read: ReadFormat | undefined): bigint | undefined {
  const id = sample.identifier ?? sample.id;
  const own = read?.values.find((value) => id !== undefined && value.id === id);
  return (own ?? read?.values[0])?.value;
}

/** The members of a line in order: name and JSON text. */
export type Members = [name: string, json: string][];

export function lineMembers(
  record: AnyDecoded,
  tree: FieldTree,
  context: LineContext,
): Members {
  const { u64 } = context;
  const members: Members = [
    ["type", JSON.stringify(context.name)],
    ["offset", String(context.offset)],
  ];
  const root = tree.root;
  const put = (name: string, value: unknown, node: FieldNode | undefined = undefined) => {
    if (value !== undefined) members.push([name, valueJson(value, node, u64)]);
  };
  const isSample = record.type === PERF_RECORD_SAMPLE;
  if (isSample) {
    members.push(["event", context.event === undefined ? "null" : JSON.stringify(context.event)]);
  }
  members.push(["misc", `"0x${record.misc.toString(16)}"`]);
  const cpumode = context.meant === undefined ? record.misc : PERF_RECORD_MISC_USER;
  if (isSample) members.push(["cpumode", `"${cpumodeName(cpumode)}"`]);
  if (record.raw !== undefined) {
    put("raw", record.raw);
    put("error", record.error?.message);
    return members;
  }
  if (isSample) {
    const { meant } = context;
    const own = record.body as Sample;
    const sample = { ...own, ...meant, callchain: own.callchain };
    const first: Readonly<Record<string, unknown>> = {
      ...sample,
      count: countOf(sample, sample.read),
      period: sample.period ?? context.period,
    };
    for (const name of SAMPLE_FIRST) {
      members.push([name, valueJson(first[name], root.fields.get(name), u64)]);
    }
    for (const [name, value] of Object.entries(sample)) {
      if (!SAMPLE_FIRST.includes(name)) put(name, value, root.fields.get(name));
    }
    if (meant !== undefined && own.callchain === undefined) {
      const addresses = meant.callchain.map((address) => `"0x${address.toString(16)}"`);
      members.push(["callchain", `[${addresses.join(",")}]`]);
    }
  } else {
    const id = record.sample_id;
    if (id !== undefined) {
      const fields = root.fields.get("sample_id")?.fields;
      for (const name of TRAILER) put(name, id[name], fields?.get(name));
    }
    members.push(["body", bodyJson(record, root, context)]);
  }
  put("tail", record.tail);
  put("after", record.after);
  put("pad", record.pad);
  return members;
}

function bodyJson(record: AnyDecoded, root: FieldNode, context: LineContext): string {
  const body = record.body as Record<string, unknown>;
  if (!isFeature(record.name)) return valueJson(body, root, context.u64);
  // Show the feature's content instead of its bytes.
  const tree = new FieldTree();
  const id = Number(body["feat_id"]);
  if (isLastFeature(id, (body["data"] as Uint8Array).length)) {
    return valueJson({ feat_id: id, name: "LAST_FEATURE" }, undefined, context.u64);
  }
  const { littleEndian } = context;
  const feature = decodeFeature(id, body["data"] as Uint8Array, { littleEndian, trace: tree });
  if (feature.name === "RAW") return valueJson(body, root, context.u64);
  const { name, value, pad, tail } = feature;
  const text = valueJson({ feat_id: id, name }, undefined, context.u64);
  const rest = [`"value":${valueJson(value, tree.root, context.u64)}`];
  if (pad !== undefined) rest.push(`"pad":${valueJson(pad, undefined, context.u64)}`);
  if (tail !== undefined) rest.push(`"tail":${valueJson(tail, undefined, context.u64)}`);
  return `${text.slice(0, -1)},${rest.join(",")}}`;
}
