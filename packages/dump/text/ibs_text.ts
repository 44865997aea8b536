import type { PerfDataReader } from "@perfdata/format/records";
import { PerfDataError } from "@perfdata/format/bytes";
import type { FeatureOf } from "@perfdata/format/features";
import {
  HEADER_ARCH,
  HEADER_CPUID,
  HEADER_PMU_CAPS,
  HEADER_PMU_MAPPINGS,
} from "@perfdata/format/constants";
import { recordedFeatures } from "@perfdata/session";

/** Size of the capabilities before the registers. */
const CAPABILITIES = 4;

/** A 64-bit register in two words. */
interface Register {
  readonly lo: number;
  readonly hi: number;
}

/** `count` bits of a word, from bit `from` on. */
function bits(word: number, from: number, count = 1): number {
  return word >>> from & 2 ** count - 1;
}

/** Formats the value as 16 digits. */
function hex({ lo, hi }: Register): string {
  const half = (word: number) => (word >>> 0).toString(16).padStart(8, "0");
  return half(hi) + half(lo);
}

function right(value: number, width: number): string {
  return String(value).padStart(width);
}

const PAGE_SIZES = ["4KB", "2MB", "1GB", "RESERVED"];
/** Page sizes on models with erratum 1347. */
const PAGE_SIZES_1347 = ["4KB", "16KB", "2MB", "1GB"];
const SOURCES = ["", "(reserved)", "Local node cache", "DRAM", "Remote node cache"]
  .concat("(reserved)", "(reserved)", "Other");
/** Sources of Zen 4 and later, with the text of perf 6.1. */
const SOURCES_ZEN4 = [
  ...["", "Local L3 or other L1/L2 in CCX", "A peer cache in a near CCX"],
  "Data returned from DRAM",
  ...["(reserved)", "A peer cache in a far CCX", 'DRAM address map with "long latency" bit set'],
  ...[
    "Data returned from MMIO/Config/PCI/APIC",
    "Extension Memory (S-Link, GenZ, etc)",
    "(reserved)",
    "(reserved)",
    "(reserved)",
  ],
  "Peer Agent Memory",
];

/**
 * Formats the raw data of AMD's IBS samples as `perf report -D` does: the saved registers of a
 * fetch or an operation. AMD's manual has their layout in "IBS Register State".
 */
export class IbsText {
  readonly #fetch: number;
  readonly #op: number;
  /** Whether errata of the first Zen 3 models apply. */
  readonly #isEarlyZen3: boolean;
  /** Whether registers have the fields of Zen 4. */
  readonly #isZen4: boolean;

  private constructor(fetch: number, op: number, cpuid: string, isZen4: boolean) {
    this.#fetch = fetch;
    this.#op = op;
    const [, family = 0, model = 0] = cpuid.split(",").map(Number);
    this.#isEarlyZen3 = family === 0x19 && model < 0x10;
    this.#isZen4 = isZen4;
  }

  /**
   * Creates the text writer for a recording of an AMD processor with IBS PMUs; `undefined` for
   * others.
   */
  static async open(reader: PerfDataReader): Promise<IbsText | undefined> {
    const wanted = [HEADER_ARCH, HEADER_CPUID, HEADER_PMU_CAPS, HEADER_PMU_MAPPINGS];
    const features = await recordedFeatures(reader, new Set(wanted)).catch((error) => {
      // Damaged features are reported where features are printed.
      if (!(error instanceof PerfDataError)) throw error;
      return new Map<number, unknown>();
    });
    const cpuid = features.get(HEADER_CPUID);
    if (typeof cpuid !== "string" || !cpuid.startsWith("AuthenticAMD")) return undefined;
    type Mappings = FeatureOf<"PMU_MAPPINGS">["value"];
    type Capabilities = FeatureOf<"PMU_CAPS">["value"];
    const { pmus } = (features.get(HEADER_PMU_MAPPINGS) ?? { pmus: [] }) as Mappings;
    const type = (start: string) => pmus.findLast(({ name }) => name.startsWith(start))?.type ?? -1;
    const [fetch, op] = [type("ibs_fetch"), type("ibs_op")];
    if (fetch < 0 && op < 0) return undefined;
    const caps = (features.get(HEADER_PMU_CAPS) ?? { pmus: [] }) as Capabilities;
    const isZen4 = caps.pmus.some(({ pmu_name, caps }) =>
      pmu_name === "ibs_op" && caps.some(({ name }) => name === "zen4_ibs_extensions")
    );
    return new IbsText(fetch, op, cpuid, isZen4);
  }

  /**
   * The lines of a sample's raw data; empty for other events, and if the registers are invalid.
   *
   * @param type `type` of the event's attr.
   * @param at Offset of the raw data.
   * @param size Size of the raw data.
   */
  text(type: number, view: DataView, at: number, size: number, le: boolean): string {
    if (type !== this.#fetch && type !== this.#op) return "";
    const count = size - CAPABILITIES >> 3;
    const register = (i: number): Register => {
      const start = at + CAPABILITIES + 8 * i;
      const [lo, hi] = le ? [start, start + 4] : [start + 4, start];
      return i < count
        ? { lo: view.getUint32(lo, le), hi: view.getUint32(hi, le) }
        : { lo: 0, hi: 0 };
    };
    const lines = type === this.#fetch
      ? count < 4 ? [] : this.#fetchLines(register)
      : count < 7
      ? []
      : this.#opLines(register);
    return lines.map((line) => `${line}\n`).join("");
  }

  #fetchLines(register: (i: number) => Register): string[] {
    const [control, linear, physical, extended] = [0, 1, 2, 3].map(register) as [
      Register,
      Register,
      Register,
      Register,
    ];
    const { lo, hi } = control;
    const bit = (at: number) => bits(hi, at - 32);
    if (!bit(48) || !bit(49)) return [];
    const isPhysical = bit(52) === 1;
    const pages = this.#isEarlyZen3 ? PAGE_SIZES_1347 : PAGE_SIZES;
    const isComplete = bit(50) === 1;
    return [
      `ibs_fetch_ctl:\t${hex(control)} MaxCnt ${right(bits(lo, 0, 16) << 4, 7)} Cnt ` +
      `${right(bits(lo, 16, 16) << 4, 7)} Lat ${right(bits(hi, 0, 16), 5)} En ${bit(48)} ` +
      `Val ${bit(49)} Comp ${bit(50)}${this.#isEarlyZen3 ? "" : ` IcMiss ${bit(51)}`} ` +
      `PhyAddrValid ${bit(52)}${isPhysical ? ` L1TlbPgSz ${pages[bits(hi, 21, 2)]}` : ""} ` +
      `L1TlbMiss ${bit(55)} L2TlbMiss ${bit(56)} RandEn ${bit(57)}` +
      `${isComplete ? ` L2Miss ${bit(58)}` : ""}` +
      (this.#isZen4 ? ` L3MissOnly ${bit(59)} FetchOcMiss ${bit(60)} FetchL3Miss ${bit(61)}` : ""),
      `IbsFetchLinAd:\t${hex(linear)}`,
      ...(isPhysical ? [`IbsFetchPhysAd:\t${hex(physical)}`] : []),
      `ic_ibs_ext_ctl:\t${hex(extended)} IbsItlbRefillLat ${right(bits(extended.lo, 0, 16), 3)}`,
    ];
  }

  #opLines(register: (i: number) => Register): string[] {
    const [control, rip, data, data2, data3, linear, physical, target] = Array.from(
      { length: 8 },
      (_, i) => register(i),
    ) as [Register, Register, Register, Register, Register, Register, Register, Register];
    if (!bits(control.lo, 17) || !bits(control.lo, 18)) return [];
    const isBranch = bits(data.hi, 5) === 1;
    // Erratum 1293: some bits are invalid without a miss buffer, and for prefetches.
    const isVoid = this.#isEarlyZen3 && (bits(data3.lo, 16) | bits(data3.lo, 21)) === 1;
    return [
      this.#opControl(control),
      ...(bits(data.hi, 6) ? [] : [`IbsOpRip:\t${hex(rip)}`]),
      `ibs_op_data:\t${hex(data)} CompToRetCtr ${right(bits(data.lo, 0, 16), 5)} TagToRetCtr ` +
      `${right(bits(data.lo, 16, 16), 5)}` +
      (isBranch
        ? ` OpReturn ${bits(data.hi, 2)} OpBrnTaken ${bits(data.hi, 3)} OpBrnMisp ${
          bits(data.hi, 4)
        }`
        : "") +
      ` BrnRet ${bits(data.hi, 5)}  RipInvalid ${bits(data.hi, 6)} BrnFuse ${bits(data.hi, 7)} ` +
      `Microcode ${bits(data.hi, 8)}`,
      ...(isVoid ? [] : [this.#source(data2)]),
      this.#access(data3, isVoid),
      ...(bits(data3.lo, 17) ? [`IbsDCLinAd:\t${hex(linear)}`] : []),
      ...(bits(data3.lo, 18) ? [`IbsDCPhysAd:\t${hex(physical)}`] : []),
      ...(isBranch && (target.lo | target.hi) !== 0 ? [`IbsBrTarget:\t${hex(target)}`] : []),
    ];
  }

  #opControl(control: Register): string {
    const { lo, hi } = control;
    const most = (bits(lo, 20, 7) << 16 | bits(lo, 0, 16)) << 4;
    return `ibs_op_ctl:\t${hex(control)} MaxCnt ${right(most, 9)}` +
      `${this.#isZen4 ? ` L3MissOnly ${bits(lo, 16)}` : ""} En ${bits(lo, 17)} ` +
      `Val ${bits(lo, 18)} CntCtl ${bits(lo, 19)}=${bits(lo, 19) ? "uOps" : "cycles"} ` +
      `CurCnt ${right(bits(hi, 0, 27), 9)}`;
  }

  #source(data2: Register): string {
    const { lo } = data2;
    const low = bits(lo, 0, 3);
    const source = this.#isZen4 ? bits(lo, 6, 2) << 3 | low : low;
    const name = (this.#isZen4 ? SOURCES_ZEN4 : SOURCES)[source] ?? "";
    const isCache = this.#isZen4 ? [1, 2, 5].includes(source) : source === 2;
    const state = bits(lo, 5) ? "1=O-State" : "0=M-state";
    return `ibs_op_data2:\t${hex(data2)} ${isCache ? `CacheHitSt ${state} ` : ""}` +
      `RmtNode ${bits(lo, 4)}${name === "" ? "" : ` DataSrc ${source}=${name}`}`;
  }

  #access(data3: Register, isVoid: boolean): string {
    const { lo, hi } = data3;
    const flags = [
      ...["LdOp", "StOp", "DcL1TlbMiss", "DcL2TlbMiss", "DcL1TlbHit2M", "DcL1TlbHit1G"],
      ...["DcL2TlbHit2M", "DcMiss", "DcMisAcc"],
    ].map((name, at) => `${name} ${bits(lo, at)}`);
    const later = [
      ...["DcWcMemAcc", "DcUcMemAcc", "DcLockedOp", "DcMissNoMabAlloc", "DcLinAddrValid"],
      ...["DcPhyAddrValid", "DcL2TlbHit1G"],
    ].map((name, i) => `${name} ${bits(lo, 13 + i)}`);
    const width = bits(lo, 22, 4);
    return [
      `ibs_op_data3:\t${hex(data3)}`,
      ...flags,
      ...later,
      ...(isVoid ? [] : [`L2Miss ${bits(lo, 20)}`]),
      `SwPf ${bits(lo, 21)}`,
      ...(width === 0 ? [] : [`OpMemWidth ${right(1 << width - 1, 2)} bytes`]),
      ...(isVoid ? [] : [`OpDcMissOpenMemReqs ${right(bits(lo, 26, 6), 2)}`]),
      `DcMissLat ${right(bits(hi, 0, 16), 5)}`,
      `TlbRefillLat ${right(bits(hi, 16, 16), 5)}`,
    ].join(" ");
  }
}
