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

/** Frames of a user stack that are looked for: `PERF_MAX_STACK_DEPTH`. */
const MOST_FRAMES = 127;

/** Where the code of objects is found: a `SymbolResolver`. */
export interface CodeFinder {
  /** Where it is looked for. */
  readonly codeSearch: CodeSearch;
}

/**
 * Answers what a walker asks about code, for the process whose stack is walked: address → mapping →
 * object → row. What was asked lately is remembered, by address and by version of what is mapped.
 */
class ProcessCode implements CodeLookup {
  row = 0;
  place = 0;
  /** The thread whose stack is walked, a number of the machine. */
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
  #version = 0;

  constructor(rows: RowTable, machine: MachineView, places: Places, finder: CodeFinder) {
    this.rows = rows;
    this.#machine = machine;
    this.#places = places;
    this.#finder = finder;
  }

  /** Begins with the stack of a thread. */
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
      // What is mapped there later does not replace anything: it would not be noticed.
      this.row = NOT_MAPPED;
      return;
    }
    this.row = code.row(this.#places.address(place));
    if (this.#places.hasVersions(place)) return;
    this.#addresses[slot] = address;
    this.#versions[slot] = version;
    this.#rowOf[slot] = this.row;
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

  /** What was opened of an object. */
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
  /** What is mapped where. */
  readonly view: MachineView;
  /** Places are added here. */
  readonly places: Places;
  /** Knows the architecture, in a pipe perhaps late. */
  readonly recorded: Pick<RecordedObjects, "arch" | "known" | "describe">;
  /** Knows it as well, and the byte order. */
  readonly reader: { readonly arch?: string | undefined; readonly littleEndian: boolean };
}

/** What is needed for one kind of machine. */
interface MachineWalker {
  readonly code: ProcessCode;
  readonly walker: FrameWalker;
}

/** How the samples of one event hold registers and stack. */
interface EventUnwinding {
  readonly mask: bigint;
  /** By `abi`: the registers; `null` if the machine is not known. */
  readonly registers: (UserRegisters | null | undefined)[];
}

/**
 * Unwinds the user stacks of samples that hold registers and a copy of the stack
 * (`perf record --call-graph dwarf`).
 *
 * As with perf: the first frame is where the registers say, each other one the byte before a return
 * address; 127 frames at most, apart from those of the kernel.
 */
export class UnwindStep {
  /** How the walks ended. */
  readonly counts: UnwindCounts = new UnwindCounts();
  readonly #machine: MachineView;
  readonly #places: Places;
  readonly #littleEndian: boolean;
  readonly #arch: () => string | undefined;
  readonly #finder: CodeFinder;
  readonly #walkers = new Map<CfiMachine, MachineWalker>();
  readonly #events: (EventUnwinding | undefined)[] = [];
  readonly #copy: StackCopy = { view: new DataView(new ArrayBuffer(0)), start: 0, size: 0 };

  /** Takes places of an engine. */
  constructor({ view, places, recorded, reader }: UnwindEngine, finder: CodeFinder) {
    this.#machine = view;
    this.#places = places;
    this.#littleEndian = reader.littleEndian;
    this.#arch = () => recorded.arch ?? reader.arch;
    this.#finder = finder;
  }

  /**
   * Makes one for a recording, with what has to be read before: `.gnu_debugdata`, which can have
   * tables on 32-bit ARM, where programs have no `.eh_frame`.
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
   * @param thread A number of the machine.
   * @param event Number of the event, whose attr is `attr`.
   * @param view What holds the sample.
   * @param fields Where its fields are.
   * @param frames The frames are added here; none if the sample has no copy of its stack.
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
   * The code of an object through which stacks were unwound.
   *
   * @param object Its number in the places.
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
