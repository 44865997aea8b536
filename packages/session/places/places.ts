// One class, since its look-ups share what they found before: maps, objects and frames of the same numbers.
export type { MachineView } from "../machine/machine_view.ts";
export type { JitRecorded, JitVersions } from "./jit_versions.ts";
import { buildIdText } from "@perfdata/format/features";
import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_GUEST_USER,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
} from "@perfdata/format/constants";
import { type Address, addressFromHalves, type SymbolObject } from "@perfdata/symbols/resolver";
import { kernelModuleName } from "../machine/kernel_maps.ts";
import type { MachineView } from "../machine/machine_view.ts";
import type { MapSource } from "../machine/map_sources.ts";
import { enlarge, intAt } from "@perfdata/format/bytes";
import { guestOfPid } from "../machine/guest_machines.ts";
import { GUEST_KERNEL, type MappedObject, type RecordedObjects } from "./recorded_objects.ts";
import type { JitRecorded, JitVersions } from "./jit_versions.ts";
import { type Run, RUN_ROWS } from "../order/run.ts";

/** The object of unmapped user addresses. */
export const UNMAPPED: number = -1;
/** The object of kernel addresses in a recording without a map of the kernel. */
export const KERNEL_HIDDEN: number = -2;
/** The object of unmapped kernel addresses. */
export const KERNEL_UNMAPPED: number = -3;
/** The objects of unmapped addresses of other CPU modes: this minus the CPU mode. */
const OTHER_UNMAPPED = -8;

const MAP_HUGETLB = 0x40000;

/** Words of a slot. */
const WORDS = 4;

/** Rules for converting an address in a process to one in an object; see {@link Places}. */
export const ADDRESS_RULE = { KEEP: 0, KERNEL: 1, START: 2, FILE: 3 } as const;

/** New places of one thread: see {@link Places.part}. */
export interface PlacesPart {
  /** Index of the first object. */
  readonly firstObject: number;
  /** The new objects. */
  readonly objects: readonly SymbolObject[];
  /** Mapping of each object. */
  readonly mapped: readonly MappedObject[];
  /** Address rule of each object. */
  readonly rules: readonly number[];
  /** Object of each place; negative if unmapped. */
  readonly object: Int32Array<ArrayBuffer>;
  /** Upper half of the address of each place. */
  readonly hi: Int32Array<ArrayBuffer>;
  /** Lower half. */
  readonly lo: Int32Array<ArrayBuffer>;
  /** Time of the first use of each place, if times are kept. */
  readonly times: Float64Array<ArrayBuffer> | undefined;
}

/** Memory without a file, whose addresses perf does not change (tools/perf/util/map.c). */
const MEMORY =
  /^(\/\/anon|\/dev\/zero|\/anon_hugepage|\[stack|\/SYSV|\[heap\]|\/tmp\/perf-\d+\.map$)/;

/**
 * Interned places: pairs of an object and an address in it. A place is the index of an address
 * that was executed, called or branched to. Its name is looked up once, after all records.
 *
 * This is the only place that turns an address in a process into one of an object:
 *
 * | mapped there | address of the place |
 * | --- | --- |
 * | a file, the vdso | offset in the file: address − start of the map + its `pgoff` |
 * | a module, a BPF program | address − start of the map |
 * | the kernel | address − its reference symbol, as recorded |
 * | memory without a file, huge pages | the address itself |
 * | nothing, in the kernel of a guest | the address itself; the object is `[guest.kernel]`, as `--guest-kallsyms` may name it |
 * | nothing | the address itself, or 0 if {@link Places.isShared}; the object is {@link UNMAPPED}, … |
 *
 * @example
 * ```ts
 * import { Machine, Places, RecordedObjects, UNMAPPED } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const machine = new Machine();
 * const places = new Places(machine, new RecordedObjects({ littleEndian: true, isGoogleDialect: false }));
 * const place = places.find(machine.thread(7, 7), 2, 0, 0x401136);
 * assertEquals(places.find(machine.thread(7, 7), 2, 0, 0x401136), place);
 * assertEquals([places.object(place), places.address(place)], [UNMAPPED, 0x401136]);
 * ```
 */
export class Places {
  /** Number of places. */
  count: number = 0;
  /**
   * The objects. Information that is read late, such as build ids in a pipe, is in them after
   * {@link Places.finish}.
   */
  readonly objects: SymbolObject[] = [];
  /** The mapping of each object, by index. */
  readonly mapped: MappedObject[] = [];
  /** Upper half of the time of the current record. */
  nowHi: number = 0;
  /** Lower half. */
  nowLo: number = 0;
  /**
   * Whether all unmapped addresses of a CPU mode share one place, at address 0, as requested by
   * `Needs.unmapped`. To be set before the first look-up. Addresses beside the kernel's mapping do
   * not, since they may be of the kernel: {@link Places.move}.
   */
  joinsUnmapped: boolean = false;
  /**
   * Whether all addresses of an object share one place, at address 0, as requested by
   * `Needs.addresses`.
   */
  joinsObjects: boolean = false;

  /**
   * Time of the first use of each place in ns of the recording's clock, for traces. An array, set
   * before the first look-up, makes them kept.
   */
  times: Float64Array<ArrayBuffer> | undefined = undefined;
  /** Time of the present look-ups, if times are kept. */
  now: number = Infinity;

  /** Finds code of JIT compilers by time; without it, an address has one place at all times. */
  jit: JitRecorded | undefined = undefined;

  readonly #machine: MachineView;
  readonly #recorded: RecordedObjects;
  /** Versions of the code, by object; `undefined` if the code never changes. */
  readonly #versions: (JitVersions | undefined)[] = [];
  /** Number of jitdump files at the last description of objects. */
  #jitdumps = 0;
  /** Objects of the versions, by object with versions and number of the version. */
  readonly #ofVersion: (number[] | undefined)[] = [];
  readonly #rules: number[] = [];
  readonly #numbers = new Map<string, number>();
  /** The object of unmapped kernel addresses, by process id of the guest. */
  readonly #guestKernels = new Map<number, number>();
  /** Index of the object of each source of a map; -1 before the first look-up. */
  #ofSource = new Int32Array(1 << 8).fill(-1);
  // By place: the object, and both halves of the address.
  #objects = new Int32Array(1 << 10);
  #his = new Int32Array(1 << 10);
  #los = new Int32Array(1 << 10);
  /**
   * Hash table with key and place plus one in each slot, so that a comparison reads one cache line.
   */
  #slots = new Int32Array(WORDS << 11);
  // The result of `#locate`.
  #object = -1;
  #hi = 0;
  #lo = 0;
  /** Results for the rows of `findAll`. */
  readonly #columns = {
    object: new Int32Array(RUN_ROWS),
    hi: new Int32Array(RUN_ROWS),
    lo: new Int32Array(RUN_ROWS),
    slot: new Int32Array(RUN_ROWS),
  };

  /**
   * Starts without places.
   *
   * @param machine The mappings at the moment of each call.
   * @param recorded Describes mapped objects.
   */
  constructor(machine: MachineView, recorded: RecordedObjects) {
    this.#machine = machine;
    this.#recorded = recorded;
  }

  /**
   * The place of an address in a thread's present mappings.
   *
   * @param thread Index of the thread in the machine.
   * @param cpumode The CPU mode in which the address was executed.
   * @param hi Upper half of the address.
   * @param lo Lower half.
   */
  find(thread: number, cpumode: number, hi: number, lo: number): number {
    this.#locate(thread, cpumode, hi, lo);
    return this.row(this.#object, this.#hi, this.#lo);
  }

  /**
   * {@link Places.find} for addresses with a place of their own. Returns -1 for others, without
   * adding a place.
   */
  findOwn(thread: number, cpumode: number, hi: number, lo: number): number {
    this.#locate(thread, cpumode, hi, lo);
    return this.isShared(this.#object) ? -1 : this.row(this.#object, this.#hi, this.#lo);
  }

  /** Whether all unmapped addresses of this kind (a negative object) share one place. */
  isShared(object: number): boolean {
    return object < 0 &&
      (this.joinsObjects || this.joinsUnmapped && object !== KERNEL_UNMAPPED);
  }

  /**
   * Moves a place to the object in which a look-up found it. A later {@link Places.find} of the
   * same address may add another place for it.
   */
  move(place: number, object: number, address: Address): void {
    const hi = Math.floor(address / 2 ** 32);
    this.#objects[place] = object;
    this.#his[place] = hi;
    this.#los[place] = address - hi * 2 ** 32;
  }

  /**
   * {@link Places.find} for the addresses of several rows, between which no mapping changes: fills
   * `Run.place`.
   *
   * Each step goes through all rows, so that the processor fetches memory for several rows at a
   * time.
   *
   * @param rows The rows; only the first `count` are used.
   * @param his Upper half of the address of each.
   * @param los Lower half.
   */
  findAll(run: Run, rows: Int32Array, count: number, his: Int32Array, los: Int32Array): void {
    const { object, hi, lo, slot } = this.#columns;
    const { thread, misc } = run;
    if (this.#slots.length === 0) this.#rehash();
    const slots = this.#slots;
    const mask = slots.length / WORDS - 1;
    for (let k = 0; k < count; k++) {
      const i = rows[k] as number;
      const mode = (misc[i] as number) & PERF_RECORD_MISC_CPUMODE_MASK;
      this.nowHi = run.timeHi[i] as number;
      this.nowLo = run.timeLo[i] as number;
      this.#locate(thread[i] as number, mode, his[k] as number, los[k] as number);
      object[k] = this.#object;
      hi[k] = this.#hi;
      lo[k] = this.#lo;
    }
    for (let k = 0; k < count; k++) {
      slot[k] = (hash(object[k] as number, hi[k] as number, lo[k] as number) & mask) * WORDS;
    }
    for (let k = 0; k < count; k++) {
      const i = rows[k] as number;
      const at = slot[k] as number;
      if (slots[at + 2] === lo[k] && slots[at] === object[k] && slots[at + 1] === hi[k]) {
        const found = slots[at + 3] as number;
        if (found > 0) {
          run.place[i] = found - 1;
          continue;
        }
      }
      run.place[i] = this.row(object[k] as number, hi[k] as number, lo[k] as number);
    }
  }

  /** Finds the object of an address, and its address there: sets `#object`, `#hi` and `#lo`. */
  #locate(thread: number, cpumode: number, hi: number, lo: number): void {
    const machine = this.#machine;
    const map = machine.map(thread, cpumode, hi, lo);
    this.#hi = hi;
    this.#lo = lo;
    if (map < 0 && cpumode === PERF_RECORD_MISC_GUEST_KERNEL) {
      this.#object = this.#guestKernel(guestOfPid(machine.pids[thread] as number));
      if (this.joinsObjects) this.#hi = this.#lo = 0;
      return;
    }
    if (map < 0) {
      this.#object = unmapped(cpumode, this.#recorded.kernelMapped);
      if (this.isShared(this.#object)) this.#hi = this.#lo = 0;
      return;
    }
    const { spaces } = machine;
    const object = this.objectOf(
      map,
      cpumode === PERF_RECORD_MISC_KERNEL || cpumode === PERF_RECORD_MISC_GUEST_KERNEL,
    );
    if (this.#jitdumps !== this.#recorded.jitdumpCount) this.#newJitdumps();
    this.#object = object;
    if (this.joinsObjects) {
      this.#hi = this.#lo = 0;
      return;
    }
    const versions = this.#versions[object];
    if (versions !== undefined) {
      const pid = intAt(machine.pids, thread);
      const version = versions.find(pid, hi, lo, this.nowHi, this.nowLo);
      if (version >= 0) this.#object = this.#objectOfVersion(object, version);
      return;
    }
    const rule = this.#rules[object] as number;
    if (rule === ADDRESS_RULE.KEEP) return;
    let fromHi: number;
    let fromLo: number;
    if (rule === ADDRESS_RULE.KERNEL) {
      const base = this.objects[object]?.referenceAddress ?? 0;
      fromHi = Math.floor(base / 2 ** 32);
      fromLo = base - fromHi * 2 ** 32;
    } else {
      fromHi = spaces.startHi[map] as number;
      fromLo = spaces.startLo[map] as number;
    }
    let low = (lo >>> 0) - fromLo;
    let high = hi - fromHi;
    if (rule === ADDRESS_RULE.FILE) {
      low += spaces.pgoffLo[map] as number;
      high += spaces.pgoffHi[map] as number;
    }
    this.#hi = high + (low < 0 ? -1 : low >= 2 ** 32 ? 1 : 0) | 0;
    this.#lo = low | 0;
  }

  /** The index of the object of a map; the object is added if it is new. */
  objectOf(map: number, isKernel: boolean): number {
    const source = this.#machine.spaces.source[map] as number;
    const object = source < this.#ofSource.length ? this.#ofSource[source] as number : -1;
    return object >= 0 ? object : this.#addObject(map, source, isKernel);
  }

  /** The index of an object that no map has, such as an image of a guest's memory. */
  addObject(object: SymbolObject): number {
    const { path: name, buildId } = object;
    return this.#objectNumber(object, { name, buildId, kernel: false }, ADDRESS_RULE.KEEP);
  }

  /** The place of the byte before a place: a return address belongs to the call before it. */
  before(place: number): number {
    const lo = this.lo(place);
    return this.row(this.object(place), this.hi(place) - (lo === 0 ? 1 : 0), lo - 1);
  }

  /** The place of the call that returns to a place: the byte before it, if it is mapped. */
  call(place: number): number {
    return this.object(place) < 0 ? place : this.before(place);
  }

  /** The place of an address of an object; it is added if it is new. */
  row(object: number, hi: number, lo: number): number {
    hi |= 0;
    lo |= 0;
    if (this.#slots.length === 0) this.#rehash();
    const slots = this.#slots;
    const mask = slots.length / WORDS - 1;
    let slot = hash(object, hi, lo) & mask;
    for (;;) {
      const at = slot * WORDS;
      const place = (slots[at + 3] as number) - 1;
      if (place < 0) break;
      if (slots[at + 2] === lo && slots[at] === object && slots[at + 1] === hi) return place;
      slot = (slot + 1) & mask;
    }
    const place = this.count++;
    if (place >= this.#objects.length) {
      this.#objects = enlarge(this.#objects, place + 1);
      this.#his = enlarge(this.#his, place + 1);
      this.#los = enlarge(this.#los, place + 1);
    }
    this.#objects[place] = object;
    this.#his[place] = hi;
    this.#los[place] = lo;
    if (this.times !== undefined) {
      if (place >= this.times.length) this.times = enlarge(this.times, place + 1);
      this.times[place] = this.now;
    }
    this.#put(slots, slot, place);
    if (this.count * 2 > mask) this.#rehash();
    return place;
  }

  #put(slots: Int32Array, slot: number, place: number): void {
    const at = slot * WORDS;
    slots[at] = this.#objects[place] as number;
    slots[at + 1] = this.#his[place] as number;
    slots[at + 2] = this.#los[place] as number;
    slots[at + 3] = place + 1;
  }

  /** Index of the object of a place; negative if unmapped. */
  object(place: number): number {
    return this.#objects[place] as number;
  }

  /** Upper half of the address of a place in its object. */
  hi(place: number): number {
    return this.#his[place] as number;
  }

  /** Lower half of the address of a place in its object. */
  lo(place: number): number {
    return this.#los[place] as number;
  }

  /** The address of a place in its object; addresses that are not canonical are rounded. */
  address(place: number): Address {
    return addressFromHalves(this.hi(place), this.lo(place));
  }

  /** Whether the object of a place has versions, so that its places depend on the time. */
  hasVersions(place: number): boolean {
    const object = this.object(place);
    return object >= 0 && this.objects[object]?.jitdump !== undefined;
  }

  /** The CPU mode in which a place was executed. */
  cpumode(place: number): number {
    const object = this.object(place);
    if (object >= 0) {
      const { kernel, guest } = this.mapped[object] as MappedObject;
      if (guest === undefined) return kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
      return kernel ? PERF_RECORD_MISC_GUEST_KERNEL : PERF_RECORD_MISC_GUEST_USER;
    }
    if (object === UNMAPPED) return PERF_RECORD_MISC_USER;
    return object > OTHER_UNMAPPED ? PERF_RECORD_MISC_KERNEL : OTHER_UNMAPPED - object;
  }

  /**
   * Copies the places from a number on, for sending to another thread and joining there.
   *
   * @param from Index of the first place.
   * @param firstObject Index of the first object to copy.
   */
  part(from: number, firstObject: number): PlacesPart {
    const { count } = this;
    return {
      firstObject,
      objects: this.objects.slice(firstObject),
      mapped: this.mapped.slice(firstObject),
      rules: this.#rules.slice(firstObject),
      object: this.#objects.slice(from, count),
      hi: this.#his.slice(from, count),
      lo: this.#los.slice(from, count),
      times: this.times?.slice(from, count),
    };
  }

  /**
   * Adds the places of a part of another thread for the same recording.
   *
   * @param first Index of the first place of the part, in the other thread.
   * @param numbers Receives numbers here, by place of the other thread.
   * @param objects Receives numbers here, by object of the other thread.
   */
  join(part: PlacesPart, first: number, numbers: Int32Array, objects: Int32Array): void {
    const { firstObject, object, hi, lo, times } = part;
    for (const [i, described] of part.objects.entries()) {
      objects[firstObject + i] = this.#objectNumber(
        described,
        part.mapped[i] as MappedObject,
        part.rules[i] as number,
      );
    }
    for (let i = 0; i < object.length; i++) {
      const of = object[i] as number;
      const number = of < 0 ? of : objects[of] as number;
      if (times !== undefined) this.now = times[i] as number;
      numbers[first + i] = this.row(number, hi[i] as number, lo[i] as number);
    }
  }

  /**
   * Completes the objects with information that was read after them, such as build ids at the end
   * of a pipe. Frees the hash table, which the next look-up makes again.
   */
  finish(): void {
    this.#slots = new Int32Array(0);
    const recorded = this.#recorded;
    for (const [number, mapped] of this.mapped.entries()) {
      const name = mapped.kernel ? lateName(mapped, recorded) : mapped.name;
      const now = { ...mapped, name };
      const { kind, version } = this.objects[number] as SymbolObject;
      if (kind === "state") continue;
      this.mapped[number] = now;
      const described = { ...recorded.describe(now), kind };
      this.objects[number] = version === undefined ? described : { ...described, version };
    }
    if (!recorded.kernelMapped) return;
    for (let place = 0; place < this.count; place++) {
      if (this.object(place) === KERNEL_HIDDEN) this.#objects[place] = KERNEL_UNMAPPED;
    }
  }

  #guestKernel(guest: number): number {
    let object = this.#guestKernels.get(guest);
    if (object === undefined) {
      const mapped = { name: GUEST_KERNEL, kernel: true, guest };
      object = this.#objectNumber(this.#recorded.describe(mapped), mapped, ADDRESS_RULE.KEEP);
      this.#guestKernels.set(guest, object);
    }
    return object;
  }

  #addObject(map: number, source: number, kernel: boolean): number {
    const machine = this.#machine;
    const of = { map, source: machine.mapSource(map), kernel };
    const { object, mapped, rule } = describeMap(machine, of, this.#recorded);
    const number = this.#objectNumber(object, mapped, rule);
    if (source >= this.#ofSource.length) {
      const used = this.#ofSource.length;
      this.#ofSource = enlarge(this.#ofSource, source + 1).fill(-1, used);
    }
    this.#ofSource[source] = number;
    this.#versions[number] ??= this.jit?.of(object);
    return number;
  }

  /** In a stream, a process may be sampled before its jitdump file is mapped. */
  #newJitdumps(): void {
    this.#jitdumps = this.#recorded.jitdumpCount;
    for (const [number, { kind, jitdump }] of this.objects.entries()) {
      if (kind !== "jit" || jitdump !== undefined) continue;
      const described = this.#recorded.describe(this.mapped[number] as MappedObject);
      if (described.jitdump === undefined) continue;
      this.objects[number] = { ...described, kind };
      this.#versions[number] = this.jit?.of(described);
    }
  }

  #objectOfVersion(object: number, version: number): number {
    const ofVersion = this.#ofVersion[object] ??= [];
    let number = ofVersion[version];
    if (number === undefined) {
      const described = { ...this.objects[object] as SymbolObject, version };
      const mapped = this.mapped[object] as MappedObject;
      number = this.#objectNumber(described, mapped, this.#rules[object] as number);
      ofVersion[version] = number;
    }
    return number;
  }

  /** The index of an object; it is added if it is new. */
  #objectNumber(object: SymbolObject, mapped: MappedObject, rule: number): number {
    const { path, kind, buildId, loadAddress, referenceAddress, version, guest } = object;
    const key = [mapped.name, path, kind, buildId, loadAddress, referenceAddress, version, guest]
      .join("\0");
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.objects.push(object) - 1;
      this.mapped.push(mapped);
      this.#rules.push(rule);
      this.#numbers.set(key, number);
    }
    return number;
  }

  /** Allocates a hash table that is at most half full. */
  #rehash(): void {
    let size = WORDS << 11;
    while (this.count * 2 > size / WORDS - 1) size *= 2;
    const slots = new Int32Array(size);
    const mask = slots.length / WORDS - 1;
    for (let place = 0; place < this.count; place++) {
      let slot = hash(this.object(place), this.hi(place), this.lo(place)) & mask;
      while (slots[slot * WORDS + 3] !== 0) slot = (slot + 1) & mask;
      this.#put(slots, slot, place);
    }
    this.#slots = slots;
  }
}

function unmapped(cpumode: number, hasKernel: boolean): number {
  if (cpumode === PERF_RECORD_MISC_USER) return UNMAPPED;
  if (cpumode !== PERF_RECORD_MISC_KERNEL) return OTHER_UNMAPPED - cpumode;
  return hasKernel ? KERNEL_UNMAPPED : KERNEL_HIDDEN;
}

/** A mapped object, with the rule for its addresses. */
export interface DescribedMap {
  /** Description for the look-up of symbols. */
  readonly object: SymbolObject;
  /** Description of the mapping. */
  readonly mapped: MappedObject;
  /** One of {@link ADDRESS_RULE}. */
  readonly rule: number;
}

/** Describes the object of a map. The only function that decides the rule for its addresses. */
export function describeMap(
  { names, spaces }: Pick<MachineView, "names" | "spaces">,
  { map, source, kernel }: {
    readonly map: number;
    readonly source: MapSource;
    readonly kernel: boolean;
  },
  recorded: RecordedObjects,
): DescribedMap {
  const { name, buildId, flags, guest, pid } = source;
  const bytes = buildId < 0 ? undefined : names.get(buildId);
  const mapped: MappedObject = {
    name: names.text(name),
    kernel,
    guest: guest < 0 ? undefined : guest,
    pid: kernel ? undefined : pid,
    buildId: bytes && buildIdText({ build_id: bytes, build_id_size: bytes.length }),
    start: addressFromHalves(spaces.startHi[map] as number, spaces.startLo[map] as number),
    end: addressFromHalves(spaces.endHi[map] as number, spaces.endLo[map] as number),
  };
  const object = recorded.describe(mapped);
  const isHuge = !kernel && (flags & MAP_HUGETLB) !== 0;
  return isHuge
    ? { object: { ...object, kind: "jit" }, mapped, rule: ADDRESS_RULE.KEEP }
    : { object, mapped, rule: ruleOf(object, mapped) };
}

function ruleOf({ kind }: SymbolObject, { name, kernel }: MappedObject): number {
  if (kind === "kernel") return ADDRESS_RULE.KERNEL;
  if (kernel) return ADDRESS_RULE.START;
  return MEMORY.test(name) ? ADDRESS_RULE.KEEP : ADDRESS_RULE.FILE;
}

/** Name of a kernel's binary in the table of build ids. */
function lateName({ name, guest }: MappedObject, { known }: RecordedObjects): string {
  const mode = guest === undefined ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_GUEST_KERNEL;
  const isKernel = name.startsWith(guest === undefined ? "[kernel.kallsyms" : "[guest.kernel.");
  const shortName = kernelModuleName(name).name;
  const found = known.find(({ filename, misc, pid }) => {
    if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) !== mode) return false;
    if (guest !== undefined && guestOfPid(pid) !== guest) return false;
    const other = kernelModuleName(filename);
    return isKernel ? !other.module : other.module && other.name === shortName;
  });
  return found?.filename ?? name;
}

/**
 * A hash that keeps close addresses close together, because consecutive addresses are often used
 * together.
 */
function hash(object: number, hi: number, lo: number): number {
  let h = Math.imul(lo >> 6, 0x9e3779b1) ^ Math.imul(hi, 0x85ebca6b) ^
    Math.imul(object, 0xc2b2ae35);
  h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
  return (h ^ h >>> 13) << 6 | lo & 63;
}
