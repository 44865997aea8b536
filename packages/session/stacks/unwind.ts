import { enlarge } from "@perfdata/format/bytes";
import { buildIdText } from "@perfdata/format/features";
import type { PerfEventAttr, SampleFields } from "@perfdata/format/records";
import { PERF_RECORD_MISC_USER } from "@perfdata/format/constants";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import {
  type CfiMachine,
  type CodeLookup,
  FrameWalker,
  NOT_MAPPED,
  RowTable,
  type StackCopy,
} from "@perfdata/symbols/dwarf";
import {
  type CodeRules,
  type CodeSearch,
  miniDebugInfos,
  type ObjectCode,
  openObjectCode,
} from "@perfdata/symbols";
import type { MachineView } from "../machine/machine_view.ts";
import type { Places } from "../places/places.ts";
import type { RecordedObjects } from "../places/recorded_objects.ts";
import { UnwindCounts } from "./unwind_counts.ts";
import type { UserFrames } from "./stacks.ts";
import { UserRegisters } from "./user_registers.ts";

/** Entries of the cache of code addresses, a power of two. */
const CACHED = 1 << 16;

/** Maximum number of frames of a user stack: `PERF_MAX_STACK_DEPTH`. */
const MOST_FRAMES = 127;

/** Finds the code of objects: a `SymbolResolver`. */
export interface CodeFinder {
  /** Options of the search. */
  readonly codeSearch: CodeSearch;
}

/** Added to the kept row of a place, so that 0 means a place that was not looked up yet. */
const KNOWN = 1 - NOT_MAPPED;

/**
 * Code lookups for the unwinder, in one process's address space: address → mapping → object → row.
 * Recent look-ups are cached, by address and by version of the mappings. The rows of places are
 * kept, too, since a compiler or a linker changes its mappings often.
 */
class ProcessCode implements CodeLookup {
  row = 0;
  place = 0;
  /** The thread whose stack is unwound: a number of the machine. */
  thread = -1;
  readonly rows: RowTable;
  readonly #machine: MachineView;
  readonly #places: Places;
  readonly #finder: CodeFinder;
  readonly #objects: (ObjectCode | undefined)[] = [];
  readonly #addresses = new Float64Array(CACHED);
  readonly #versions = new Int32Array(CACHED).fill(-1);
  readonly #rowOf = new Int32Array(CACHED);
  readonly #placeOf = new Int32Array(CACHED);
  /** The row of each place, plus `KNOWN`; 0 for places that were not looked up. */
  #rows = new Int32Array(1 << 12);
  #version = 0;

  constructor(rows: RowTable, machine: MachineView, places: Places, finder: CodeFinder) {
    this.rows = rows;
    this.#machine = machine;
    this.#places = places;
    this.#finder = finder;
  }

  begin(thread: number): void {
    this.thread = thread;
    this.#version = this.#machine.spaceVersion(thread);
  }

  find(address: number): void {
    const high = Math.floor(address / 4294967296);
    const low = address - high * 4294967296 | 0;
    const version = this.#version;
    const slot = (low ^ low >>> 16 ^ Math.imul(version, 0x9e3779b1) ^ high << 4) & CACHED - 1;
    if (this.#addresses[slot] === address && this.#versions[slot] === version) {
      this.row = this.#rowOf[slot] as number;
      this.place = this.#placeOf[slot] as number;
      return;
    }
    const place = this.place = this.#places.find(this.thread, PERF_RECORD_MISC_USER, high, low);
    const code = this.#codeAt(place);
    if (code === undefined) {
      // Not cached: mapping an unmapped address later does not change the version.
      this.row = NOT_MAPPED;
      return;
    }
    if (this.#places.hasVersions(place)) {
      this.row = code.row(this.#places.address(place));
      return;
    }
    if (place >= this.#rows.length) this.#rows = enlarge(this.#rows, place + 1);
    let row = (this.#rows[place] as number) - KNOWN;
    if (row < NOT_MAPPED) {
      row = code.row(this.#places.address(place));
      this.#rows[place] = row + KNOWN;
    }
    this.row = row;
    this.#addresses[slot] = address;
    this.#versions[slot] = version;
    this.#rowOf[slot] = row;
    this.#placeOf[slot] = place;
  }

  rules(address: number): CodeRules | undefined {
    const place = this.#placeAt(address);
    return this.#codeAt(place)?.rules(this.#places.address(place));
  }

  memory(address: number, size: number): number {
    if (Number.isNaN(address)) return NaN;
    const map = this.#machine.map(
      this.thread,
      PERF_RECORD_MISC_USER,
      Math.floor(address / 4294967296),
      address - Math.floor(address / 4294967296) * 4294967296 | 0,
    );
    if (map < 0) return NaN;
    const place = this.#placeAt(address);
    return this.#codeAt(place)?.memory(this.#places.address(place), size) ?? NaN;
  }

  #placeAt(address: number): number {
    const high = Math.floor(address / 4294967296);
    return this.#places.find(
      this.thread,
      PERF_RECORD_MISC_USER,
      high,
      address - high * 4294967296 | 0,
    );
  }

  code(object: number): ObjectCode | undefined {
    return this.#objects[object];
  }

  #codeAt(place: number): ObjectCode | undefined {
    const object = this.#places.object(place);
    if (object < 0) return undefined;
    return this.#objects[object] ??= openObjectCode(
      this.#places.objects[object] as SymbolObject,
      this.rows,
      this.#finder.codeSearch,
    );
  }
}

/** The needed part of an engine. */
export interface UnwindEngine {
  /** Mappings of processes. */
  readonly view: MachineView;
  /** Receives new places. */
  readonly places: Places;
  /** The architecture (in a pipe, perhaps only later), and descriptions of objects. */
  readonly recorded: Pick<RecordedObjects, "arch" | "known" | "describe">;
  /** The architecture and the byte order. */
  readonly reader: { readonly arch?: string | undefined; readonly littleEndian: boolean };
}

/** Unwinder for one kind of machine. */
interface MachineWalker {
  readonly code: ProcessCode;
  readonly walker: FrameWalker;
}

/** Registers and stack in the samples of one event. */
interface EventUnwinding {
  readonly mask: bigint;
  /** Registers by `abi`; `null` if the machine is unknown. */
  readonly registers: (UserRegisters | null | undefined)[];
}

/**
 * Unwinds the user stacks of samples that have registers and a copy of the stack (`perf record
 * --call-graph dwarf`).
 *
 * As in perf, the first frame has the address of the registers, and each other one the byte before
 * a return address. There are at most 127 frames, not counting those of the kernel.
 */
export class UnwindStep {
  /** Counts of stacks, by the reason of their end. */
  readonly counts: UnwindCounts = new UnwindCounts();
  readonly #machine: MachineView;
  readonly #places: Places;
  readonly #littleEndian: boolean;
  readonly #arch: () => string | undefined;
  readonly #finder: CodeFinder;
  readonly #walkers = new Map<CfiMachine, MachineWalker>();
  readonly #events: (EventUnwinding | undefined)[] = [];
  readonly #copy: StackCopy = { view: new DataView(new ArrayBuffer(0)), start: 0, size: 0 };

  /** Prepares for the places of an engine. */
  constructor({ view, places, recorded, reader }: UnwindEngine, finder: CodeFinder) {
    this.#machine = view;
    this.#places = places;
    this.#littleEndian = reader.littleEndian;
    this.#arch = () => recorded.arch ?? reader.arch;
    this.#finder = finder;
  }

  /**
   * Creates an unwinder for a recording. Reads `.gnu_debugdata` in advance, which can have tables
   * on 32-bit ARM, where programs have no `.eh_frame`.
   */
  static async open(engine: UnwindEngine, finder: CodeFinder): Promise<UnwindStep> {
    const { recorded, reader } = engine;
    const { codeSearch } = finder;
    const arch = recorded.arch ?? reader.arch ?? "";
    if (!/^arm/.test(arch)) return new UnwindStep(engine, finder);
    const objects = recorded.known.map(({ filename, ...event }) =>
      recorded.describe({ name: filename, kernel: false, buildId: buildIdText(event) })
    );
    const miniDebugInfo = await miniDebugInfos(objects, codeSearch);
    return new UnwindStep(engine, { codeSearch: { ...codeSearch, miniDebugInfo } });
  }

  /**
   * Unwinds the stack of a sample.
   *
   * @param thread Index of the thread in the machine.
   * @param event Index of the event, whose attr is `attr`.
   * @param view Bytes that contain the sample.
   * @param fields Offsets of the fields of the sample.
   * @param frames Receives the frames; nothing is added if the sample has no copy of its stack.
   */
  take(
    thread: number,
    event: number,
    attr: PerfEventAttr,
    view: DataView,
    fields: SampleFields,
    frames: UserFrames,
  ): void {
    const { regsUser, stackUser, stackUserSize, stackUserDynSize } = fields;
    if (regsUser < 0 || stackUser < 0 || stackUserSize === 0) return;
    const le = this.#littleEndian;
    const abi = view.getUint32(le ? regsUser : regsUser + 4, le);
    if (abi === 0) return;
    const registers = this.#registers(event, attr, abi);
    if (registers === null) {
      this.counts.otherMachine++;
      return;
    }
    registers.read(view, regsUser + 8);
    const copy = this.#copy;
    copy.view = view;
    copy.start = stackUser;
    copy.size = stackUserSize;
    if (stackUserDynSize >= 0) {
      const size = view.getUint32(le ? stackUserDynSize : stackUserDynSize + 4, le);
      if (size < stackUserSize) copy.size = size;
    }
    const { code, walker } = this.#walker(registers.machine);
    code.begin(thread);
    walker.walk(registers.values, copy);
    const { places, addresses, count } = walker;
    for (let i = 0; i < count; i++) {
      const address = addresses[i] as number;
      const hi = Math.floor(address / 4294967296);
      frames.add(places[i] as number, hi, address - hi * 4294967296 | 0);
    }
    this.counts.take(
      walker,
      this.#machine.pids[thread] as number,
      this.#machine.tids[thread] as number,
      count === 0 ? -1 : this.#places.object(places[count - 1] as number),
      registers.values[registers.machine.sp] as number,
      copy.size,
    );
  }

  /**
   * The code of an object that was used for unwinding.
   *
   * @param object Its index in the places.
   */
  code(object: number): { readonly machine: CfiMachine; readonly code: ObjectCode } | undefined {
    for (const [machine, { code }] of this.#walkers) {
      const found = code.code(object);
      if (found !== undefined) return { machine, code: found };
    }
    return undefined;
  }

  #registers(event: number, attr: PerfEventAttr, abi: number): UserRegisters | null {
    const known = this.#events[event] ??= {
      mask: BigInt(attr.sample_regs_user ?? 0),
      registers: [],
    };
    if (abi > 2) return null;
    let registers = known.registers[abi];
    if (registers === undefined) {
      registers = UserRegisters.of(this.#arch(), abi, known.mask, this.#littleEndian) ?? null;
      known.registers[abi] = registers;
    }
    return registers;
  }

  #walker(machine: CfiMachine): MachineWalker {
    let found = this.#walkers.get(machine);
    if (found === undefined) {
      const rows = new RowTable(machine);
      const code = new ProcessCode(rows, this.#machine, this.#places, this.#finder);
      found = { code, walker: new FrameWalker(rows, code, MOST_FRAMES, this.#littleEndian) };
      this.#walkers.set(machine, found);
    }
    return found;
  }
}
