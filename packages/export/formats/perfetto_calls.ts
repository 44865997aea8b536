import { byteAt, enlarge, floatAt, intAt } from "@perfdata/format/bytes";
import { CALL_ROW, type CallEvents, type PtNames, type PtThreads } from "@perfdata/pt/decode";
import type { CallWriter } from "./call_writer.ts";
import { MessageBytes } from "./message_bytes.ts";
import {
  ANNOTATION,
  CLOCK,
  CLOCK_ID,
  DEFAULTS,
  ENTRY,
  INTERNED,
  PACKET,
  PROCESS,
  SEQUENCE,
  SLICE,
  SNAPSHOT_CLOCKS,
  THREAD,
  TRACE_PACKET,
  TRACK,
  TRACK_EVENT,
} from "./perfetto_fields.ts";

/** Names of arguments by `iid`. */
const ARGUMENTS = ["", "insns", "end", "value", "function"] as const;
const INSNS = 1, END = 2, VALUE = 3, FUNCTION = 4;

/** A thread. Its packets are a sequence with its own names and clock. */
interface Sequence {
  readonly number: number;
  /** Id of each place's name in the sequence, or 0. */
  names: Int32Array;
  named: number;
  /** Time of the last packet in ns. */
  time: number;
  open: number;
}

/**
 * Calls of a trace for Perfetto in its own format (`perfetto.protos.Trace`): a slice per call in
 * the thread's track, with its number of instructions. Names are written once per thread, and times
 * as distances, so a call takes some 40 bytes; trace events in JSON take 110.
 *
 * Calls are written as they begin and end, so memory does not grow with their number.
 */
export class PerfettoCalls implements CallWriter {
  /** Number of written calls. */
  calls = 0;
  /** Number of calls that were dropped because they have no time. */
  untimed = 0;
  /** Number of calls that were dropped because they began before the written part. */
  headless = 0;
  readonly #bytes = new MessageBytes();
  readonly #names: PtNames;
  readonly #threads: PtThreads;
  readonly #sequences = new Map<number, Sequence>();
  readonly #processes = new Set<number>();

  /** Creates an empty trace. */
  constructor(names: PtNames, threads: PtThreads) {
    this.#names = names;
    this.#threads = threads;
  }

  /** Writes calls that begin and end. Their places' names are known. */
  rows(events: CallEvents, out: (bytes: Uint8Array) => void): void {
    const bytes = this.#bytes;
    for (let i = 0; i < events.count; i++) {
      const kind = byteAt(events.kind, i);
      const time = floatAt(events.time, i);
      if (time < 0) {
        if (kind === 0 || kind === CALL_ROW.PTWRITE) this.untimed++;
        continue;
      }
      const sequence = this.#sequence(intAt(events.tid, i), intAt(events.cpu, i), time);
      if (kind === CALL_ROW.PTWRITE) {
        this.#write(sequence, events.written(i), intAt(events.place, i), time);
      } else if (kind === 0) {
        this.#begin(sequence, intAt(events.place, i), time);
        this.calls++;
        sequence.open++;
      } else if (sequence.open > 0) {
        this.#end(sequence, floatAt(events.insns, i), kind === 2, time);
        sequence.open--;
      } else this.headless++;
      if (bytes.isFull) out(bytes.take());
    }
  }

  #begin(sequence: Sequence, place: number, time: number): void {
    const bytes = this.#bytes;
    const packet = this.#packet(sequence, time);
    const event = bytes.open(TRACE_PACKET.TRACK_EVENT);
    bytes.field(TRACK_EVENT.TYPE, SLICE.BEGIN);
    const isNew = (sequence.names[place] ?? 0) === 0;
    if (isNew) {
      if (place >= sequence.names.length) sequence.names = enlarge(sequence.names, place + 1);
      sequence.names[place] = ++sequence.named;
    }
    const iid = intAt(sequence.names, place);
    bytes.field(TRACK_EVENT.NAME_IID, iid);
    bytes.close(event);
    if (isNew) {
      const interned = bytes.open(TRACE_PACKET.INTERNED_DATA);
      const name = bytes.open(INTERNED.EVENT_NAMES);
      bytes.field(ENTRY.IID, iid);
      bytes.text(ENTRY.TEXT, this.#names.names[place] as string);
      bytes.close(name);
      bytes.close(interned);
    }
    bytes.close(packet);
  }

  #end(sequence: Sequence, insns: number, isOpen: boolean, time: number): void {
    const bytes = this.#bytes;
    const packet = this.#packet(sequence, time);
    const event = bytes.open(TRACE_PACKET.TRACK_EVENT);
    const count = bytes.open(TRACK_EVENT.DEBUG_ANNOTATIONS);
    bytes.field(ANNOTATION.NAME_IID, INSNS);
    bytes.present(ANNOTATION.UINT, insns);
    bytes.close(count);
    if (isOpen) {
      const why = bytes.open(TRACK_EVENT.DEBUG_ANNOTATIONS);
      bytes.field(ANNOTATION.NAME_IID, END);
      bytes.text(ANNOTATION.STRING, "no return seen");
      bytes.close(why);
    }
    bytes.field(TRACK_EVENT.TYPE, SLICE.END);
    bytes.close(event);
    bytes.close(packet);
  }

  /** Writes a value of PTWRITE as an instant in the thread's track. */
  #write(sequence: Sequence, value: bigint, place: number, time: number): void {
    const bytes = this.#bytes;
    const packet = this.#packet(sequence, time);
    const event = bytes.open(TRACE_PACKET.TRACK_EVENT);
    const number = bytes.open(TRACK_EVENT.DEBUG_ANNOTATIONS);
    bytes.field(ANNOTATION.NAME_IID, VALUE);
    bytes.present(ANNOTATION.UINT, value);
    bytes.close(number);
    const writer = bytes.open(TRACK_EVENT.DEBUG_ANNOTATIONS);
    bytes.field(ANNOTATION.NAME_IID, FUNCTION);
    bytes.text(ANNOTATION.STRING, this.#names.names[place] as string);
    bytes.close(writer);
    bytes.field(TRACK_EVENT.TYPE, SLICE.INSTANT);
    bytes.text(TRACK_EVENT.NAME, `ptwrite 0x${value.toString(16)}`);
    bytes.close(event);
    bytes.close(packet);
  }

  /** Begins a packet of a sequence. Its time is the distance from the previous packet. */
  #packet(sequence: Sequence, time: number): number {
    const bytes = this.#bytes;
    const packet = bytes.open(PACKET);
    bytes.present(TRACE_PACKET.TIMESTAMP, Math.max(0, time - sequence.time));
    sequence.time = Math.max(time, sequence.time);
    bytes.field(TRACE_PACKET.TRUSTED_PACKET_SEQUENCE_ID, sequence.number);
    bytes.field(TRACE_PACKET.SEQUENCE_FLAGS, SEQUENCE.NEEDS_STATE);
    return packet;
  }

  /** The sequence of a thread. Each CPU has its own idle task, and its own unknown thread. */
  #sequence(tid: number, cpu: number, time: number): Sequence {
    const key = tid > 0 ? tid : -2 - 2 * cpu - (tid < 0 ? 1 : 0);
    let sequence = this.#sequences.get(key);
    if (sequence === undefined) {
      const number = this.#sequences.size + 1;
      sequence = { number, names: new Int32Array(64), named: 0, time: Math.floor(time), open: 0 };
      this.#sequences.set(key, sequence);
      this.#start(number, sequence.time);
      this.#describe(number, tid, cpu);
    }
    return sequence;
  }

  /** Writes the properties of all packets of a sequence: clock, track, names of arguments. */
  #start(number: number, time: number): void {
    const bytes = this.#bytes;
    const packet = bytes.open(PACKET);
    bytes.field(TRACE_PACKET.TRUSTED_PACKET_SEQUENCE_ID, number);
    bytes.field(TRACE_PACKET.SEQUENCE_FLAGS, SEQUENCE.CLEARED);
    const interned = bytes.open(TRACE_PACKET.INTERNED_DATA);
    for (let iid = 1; iid < ARGUMENTS.length; iid++) {
      const name = bytes.open(INTERNED.ANNOTATION_NAMES);
      bytes.field(ENTRY.IID, iid);
      bytes.text(ENTRY.TEXT, ARGUMENTS[iid] as string);
      bytes.close(name);
    }
    bytes.close(interned);
    const defaults = bytes.open(TRACE_PACKET.TRACE_PACKET_DEFAULTS);
    const track = bytes.open(DEFAULTS.TRACK_EVENT);
    bytes.field(TRACK_EVENT.TRACK_UUID, trackOf(number));
    bytes.close(track);
    bytes.field(DEFAULTS.TIMESTAMP_CLOCK_ID, CLOCK_ID.OF_SEQUENCE);
    bytes.close(defaults);
    bytes.close(packet);
    const clocks = bytes.open(PACKET);
    const snapshot = bytes.open(TRACE_PACKET.CLOCK_SNAPSHOT);
    const now = this.#names.origin.exact(time);
    for (const id of [CLOCK_ID.OF_SEQUENCE, CLOCK_ID.BOOTTIME]) {
      const clock = bytes.open(SNAPSHOT_CLOCKS);
      bytes.field(CLOCK.ID, id);
      bytes.present(CLOCK.TIMESTAMP, now);
      bytes.field(CLOCK.IS_INCREMENTAL, id === CLOCK_ID.OF_SEQUENCE ? 1 : 0);
      bytes.close(clock);
    }
    bytes.close(snapshot);
    bytes.field(TRACE_PACKET.TRUSTED_PACKET_SEQUENCE_ID, number);
    bytes.close(clocks);
  }

  /** Writes the track of a thread, preceded by its process's track if that is new. */
  #describe(number: number, tid: number, cpu: number): void {
    if (tid <= 0) {
      const name = `${tid === 0 ? "swapper" : "unknown"}${cpu < 0 ? "" : `/${cpu}`}`;
      this.#track(number, () => {
        this.#bytes.field(TRACK.UUID, trackOf(number));
        this.#bytes.text(TRACK.NAME, name);
      });
      return;
    }
    const bytes = this.#bytes;
    const pid = this.#threads.pid(tid, Infinity);
    if (!this.#processes.has(pid)) {
      this.#processes.add(pid);
      this.#track(number, () => {
        bytes.field(TRACK.UUID, processTrackOf(pid));
        const process = bytes.open(TRACK.PROCESS);
        bytes.present(PROCESS.PID, pid);
        bytes.text(PROCESS.NAME, this.#threads.name(pid, Infinity) ?? `:${pid}`);
        bytes.close(process);
      });
    }
    this.#track(number, () => {
      bytes.field(TRACK.UUID, trackOf(number));
      const thread = bytes.open(TRACK.THREAD);
      bytes.present(THREAD.PID, pid);
      bytes.present(THREAD.TID, tid);
      bytes.text(THREAD.NAME, this.#threads.name(tid, Infinity) ?? `:${tid}`);
      bytes.close(thread);
      bytes.field(TRACK.PARENT_UUID, processTrackOf(pid));
    });
  }

  #track(number: number, put: () => void): void {
    const bytes = this.#bytes;
    const packet = bytes.open(PACKET);
    bytes.field(TRACE_PACKET.TRUSTED_PACKET_SEQUENCE_ID, number);
    const track = bytes.open(TRACE_PACKET.TRACK_DESCRIPTOR);
    put();
    bytes.close(track);
    bytes.close(packet);
  }

  /** Writes the remaining bytes. */
  finish(out: (bytes: Uint8Array) => void): void {
    out(this.#bytes.take());
  }
}

function trackOf(sequence: number): number {
  return 2 * sequence;
}

function processTrackOf(pid: number): number {
  return 2 * pid + 3;
}
