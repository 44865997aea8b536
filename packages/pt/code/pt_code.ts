import { type CodeRange, type CodeSpace, offsetIn } from "@perfdata/intel-pt";
import {
  addressFromHalves,
  type BinarySource,
  perfMapPid,
  type SymbolObject,
  SymbolsError,
} from "@perfdata/symbols/resolver";
import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from "@perfdata/format/constants";
import { JitSymbols, openJitdump } from "@perfdata/symbols";
import { Places, type RecordedObjects } from "@perfdata/session";
import type { PtThreads } from "./pt_threads.ts";
import { CodeMemory, CodeRanges } from "./pt_memory.ts";
import { type CodeFiles, kernelImages, MAX_RANGE, type MemoryImage } from "@perfdata/session/code";
import type { PtSideband } from "./pt_sideband.ts";
import type { TimeOrigin } from "../decode/pt_time.ts";

/** Code of a JIT compiler. */
interface JitPiece {
  readonly address: number;
  readonly size: number;
  readonly since: number;
  readonly range: CodeRange;
}

/** The object for code of an unknown guest. */
const GUEST = "[guest]";

/** The sources of each thread's code at each time: files, images, a jitdump. */
export class PtCode {
  /** The places of functions and branches, with the time of their first use. */
  readonly places: Places;
  /** Reasons for missing code, by path of the object. */
  readonly missing: Map<string, string> = new Map();

  readonly #threads: PtThreads;
  readonly #recorded: RecordedObjects;
  readonly #files: CodeFiles;
  readonly #sideband: PtSideband;
  readonly #ranges = new CodeRanges();
  readonly #memory: CodeMemory;
  readonly #guest: CodeMemory;
  /** Whether the kernel's file was looked for. */
  #kernelSearched = false;
  /** The file that the kernel's code is from; `undefined` if it is from a copy of its memory. */
  kernelFile: string | undefined;
  readonly #rangesOfFiles = new Map<string, CodeRange>();
  /** Range of the last look-up, by map. */
  readonly #rangeOfMap: (CodeRange | undefined)[] = [];
  readonly #sources = new Map<string, BinarySource | undefined>();
  readonly #jit = new Map<string, readonly JitPiece[]>();
  #poked: Set<number> | undefined;

  /**
   * Prepares for the mappings of the sideband.
   *
   * @param images Copies of memory, which have priority over files.
   * @param guestImages Copies of the memory of a guest.
   */
  constructor(
    sideband: PtSideband,
    files: CodeFiles,
    images: readonly MemoryImage[] = [],
    guestImages: readonly MemoryImage[] = [],
  ) {
    this.#sideband = sideband;
    this.#threads = sideband.threads;
    this.#recorded = sideband.recorded as RecordedObjects;
    this.places = new Places(this.#threads.history, this.#recorded);
    this.places.times = new Float64Array(1 << 10);
    this.#files = files;
    this.#memory = new CodeMemory(this.#ranges, images, sideband.pokes);
    this.#guest = new CodeMemory(this.#ranges, guestImages);
  }

  /** Origin of times. */
  get origin(): TimeOrigin {
    return this.#sideband.origin;
  }

  /**
   * The code of a thread at a time.
   *
   * @param isGuest Whether it runs a guest, which has none of the host's mappings.
   */
  space(tid: number, time: number, isGuest = false): ThreadCode {
    return new ThreadCode(this, this.#threads, tid, time, isGuest);
  }

  /** The code of a guest at an address; `undefined` if it is missing. */
  guest(low: number, high: number, time: number): CodeRange | undefined {
    const range = this.#guest.code(low, high, time);
    if (range === undefined) this.missing.set(GUEST, "what ran in it (--guest-image)");
    return range;
  }

  /** The image with an address, in its state at a time. */
  image(low: number, high: number, time: number): CodeRange | undefined {
    return this.#memory.code(low, high, time);
  }

  /** Whether a change of code (TEXT_POKE) begins at most this many bytes before an address. */
  isPokedBefore(address: number, most: number): boolean {
    const { pokes } = this.#sideband;
    if (pokes.length === 0) return false;
    this.#poked ??= new Set(pokes.map(({ high, low }) => addressFromHalves(high, low)));
    for (let n = 1; n <= most; n++) if (this.#poked.has(address - n)) return true;
    return false;
  }

  /** The code of a thread's mapping at an address; `undefined` if it is missing. */
  mapped(map: number, low: number, high: number, code: ThreadCode): CodeRange | undefined {
    const known = this.#rangeOfMap[map];
    if (known !== undefined && offsetIn(known, low, high) >= 0) return known;
    const { spaces: data } = this.#threads.history;
    const number = this.places.objectOf(map, high < 0);
    const object = this.places.objects[number] as SymbolObject;
    if (object.kind === "kernel") return this.#kernelCode(object, low, high, code.time);
    if (object.kind === "jit") return this.#jitCode(object, low, high, code);
    if (object.kind !== "elf" && object.kind !== "vdso" && object.kind !== "module") {
      return undefined;
    }
    const startLow = (data.startLo[map] as number) | 0;
    const startHigh = (data.startHi[map] as number) | 0;
    const size = addressFromHalves(data.endHi[map] as number, data.endLo[map] as number) -
      addressFromHalves(startHigh, startLow);
    const distance = addressFromHalves(high, low) - addressFromHalves(startHigh, startLow);
    const piece = Math.floor(distance / MAX_RANGE) * MAX_RANGE;
    const pgoff = addressFromHalves(data.pgoffHi[map] as number, data.pgoffLo[map] as number);
    const key = `${number} ${startHigh} ${startLow} ${size} ${pgoff} ${piece}`;
    let range = this.#rangesOfFiles.get(key);
    if (range === undefined) {
      const source = this.#source(object);
      if (source === undefined) return undefined;
      const first = BigInt.asUintN(
        64,
        (BigInt(startHigh) << 32n | BigInt(startLow >>> 0)) + BigInt(piece),
      );
      range = this.#ranges.of(first, Math.min(MAX_RANGE, size - piece), source, pgoff + piece);
      this.#rangesOfFiles.set(key, range);
    }
    return this.#rangeOfMap[map] = range;
  }

  /** The kernel's code from its file, if no copy of its memory has it. */
  #kernelCode(
    object: SymbolObject,
    low: number,
    high: number,
    time: number,
  ): CodeRange | undefined {
    if (this.#kernelSearched) return undefined;
    this.#kernelSearched = true;
    const { reference, referenceAddress } = object;
    const source = this.#source(object);
    if (source === undefined) return undefined;
    if (reference === undefined || referenceAddress === undefined) {
      this.missing.set(object.path, "the recording does not say where it was");
      return undefined;
    }
    try {
      this.#memory.add(kernelImages(source, { name: reference, address: referenceAddress }));
      this.kernelFile = object.path;
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
      this.missing.set(object.path, error.message);
      return undefined;
    }
    return this.image(low, high, time);
  }

  #source(object: SymbolObject): BinarySource | undefined {
    const key = `${object.path}\0${object.buildId ?? ""}`;
    if (this.#sources.has(key)) return this.#sources.get(key);
    const found = this.#files.open(object);
    const source = "source" in found ? found.source : undefined;
    if ("missing" in found) this.missing.set(object.path, found.missing);
    this.#sources.set(key, source);
    return source;
  }

  /** The place of an address in a thread. */
  place(code: ThreadCode, low: number, high: number): number {
    const { places } = this;
    places.now = this.origin.rounded(code.time);
    if (code.isGuest) return this.#guestPlace(low, high);
    const mode = high < 0 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    const { count } = places;
    const place = places.find(code.state, mode, high, low);
    if (place === count) {
      const object = places.objects[places.object(place)];
      if (object?.kind === "jit" && places.times !== undefined) {
        places.times[place] = this.origin.rounded(this.#timeOfCode(object, code));
      }
    }
    return place;
  }

  /** The place of an address in a guest: in the guest's kernel file, if the address is in it. */
  #guestPlace(low: number, high: number): number {
    const { places } = this;
    const found = this.#guest.at(low, high);
    const path = found?.image.path;
    if (found === undefined || path === undefined) {
      return places.row(places.addObject({ kind: "elf", path: GUEST }), high, low);
    }
    const address = found.distance + found.image.offset;
    return places.row(
      places.addObject({ kind: "elf", path }),
      Math.floor(address / 2 ** 32),
      address,
    );
  }

  /**
   * The time up to which a jitdump describes the memory of a process: a forked process has the code
   * that its parent had then.
   */
  #timeOfCode({ path }: SymbolObject, { tid, time }: ThreadCode): number {
    const owner = perfMapPid(path);
    if (owner === undefined) return time;
    const forked = this.#recorded.forkedAt(owner, this.#threads.pid(tid, time));
    return Math.min(time, forked - this.origin.rounded(0));
  }

  #jitCode(
    object: SymbolObject,
    low: number,
    high: number,
    code: ThreadCode,
  ): CodeRange | undefined {
    const { jitdump } = object;
    if (jitdump === undefined) {
      this.missing.set(object.path, "no jitdump");
      return undefined;
    }
    let pieces = this.#jit.get(jitdump);
    if (pieces === undefined) {
      pieces = this.#openJitdump(jitdump);
      this.#jit.set(jitdump, pieces);
    }
    const time = this.#timeOfCode(object, code);
    const address = addressFromHalves(high, low);
    let best: JitPiece | undefined;
    for (const piece of pieces) {
      if (address < piece.address || address >= piece.address + piece.size) continue;
      // The newest code at the time, otherwise the first later one.
      if (best === undefined || (piece.since <= time && piece.since >= best.since)) best = piece;
    }
    return best?.range;
  }

  #openJitdump(path: string): JitPiece[] {
    const source = this.#files.file(path);
    if (source === undefined) {
      this.missing.set(path, "file missing");
      return [];
    }
    const pieces: JitPiece[] = [];
    try {
      for (
        const { start, end, since, codeOffset } of new JitSymbols(openJitdump(source).records())
          .codes
      ) {
        const size = end - start;
        const range = this.#ranges.of(BigInt(start), size, source, codeOffset);
        // Times of generated code are doubles, relative to the origin.
        pieces.push({ address: start, size, since: since - this.origin.rounded(0), range });
      }
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
      this.missing.set(path, error.message);
    }
    return pieces;
  }
}

/** The code of a thread at a time. */
export class ThreadCode implements CodeSpace {
  /** The thread. */
  readonly tid: number;
  /** Time in ns. */
  readonly time: number;
  /** Whether it is the code of a guest. */
  readonly isGuest: boolean;
  /** Its state at that time: an index in the history. */
  readonly state: number;
  readonly #code: PtCode;
  readonly #threads: PtThreads;

  /** Called by {@linkcode PtCode.space}. */
  constructor(code: PtCode, threads: PtThreads, tid: number, time: number, isGuest = false) {
    this.tid = tid;
    this.time = time;
    this.isGuest = isGuest;
    this.state = threads.stateAt(tid, time);
    this.#code = code;
    this.#threads = threads;
  }

  /** The mapping at an address, or -1. Guests have no recorded mappings. */
  map(low: number, high: number): number {
    if (this.isGuest) return -1;
    return this.#threads.map(this.state, high, low);
  }

  /** The code at an address. */
  find(low: number, high: number): CodeRange | undefined {
    if (this.isGuest) return this.#code.guest(low, high, this.time);
    const image = this.#code.image(low, high, this.time);
    if (image !== undefined) return image;
    const map = this.map(low, high);
    if (map < 0) return undefined;
    const range = this.#code.mapped(map, low, high, this);
    return range !== undefined && offsetIn(range, low, high) >= 0 ? range : undefined;
  }
}
