import { PerfDataError } from "../error.ts";
import {
  array,
  bytes,
  chars,
  type Codec,
  countedBy,
  counter,
  enumeration,
  extensible,
  type ExtensibleValue,
  type FixedCodec,
  flags,
  hex,
  type HiddenCodec,
  type OptionalCodec,
  reserved,
  struct,
  type StructValue,
  u32,
  u64,
  x64,
} from "../struct/mod.ts";

/** The fields of `struct bpf_prog_info` (`include/uapi/linux/bpf.h`), as of Linux 6.1. */
export const BPF_INFO_FIELDS = {
  type: [
    enumeration(u32, {
      0: "UNSPEC",
      1: "SOCKET_FILTER",
      2: "KPROBE",
      3: "SCHED_CLS",
      4: "SCHED_ACT",
      5: "TRACEPOINT",
      6: "XDP",
      7: "PERF_EVENT",
      8: "CGROUP_SKB",
      9: "CGROUP_SOCK",
      10: "LWT_IN",
      11: "LWT_OUT",
      12: "LWT_XMIT",
      13: "SOCK_OPS",
      14: "SK_SKB",
      15: "CGROUP_DEVICE",
      16: "SK_MSG",
      17: "RAW_TRACEPOINT",
      18: "CGROUP_SOCK_ADDR",
      19: "LWT_SEG6LOCAL",
      20: "LIRC_MODE2",
      21: "SK_REUSEPORT",
      22: "FLOW_DISSECTOR",
      23: "CGROUP_SYSCTL",
      24: "RAW_TRACEPOINT_WRITABLE",
      25: "CGROUP_SOCKOPT",
      26: "TRACING",
      27: "STRUCT_OPS",
      28: "EXT",
      29: "LSM",
      30: "SK_LOOKUP",
      31: "SYSCALL",
      32: "NETFILTER",
    }) as FixedCodec<number>,
    "Type of the program: `enum bpf_prog_type`.",
  ],
  id: [u32, "Id of the program; a BPF_EVENT record names it."],
  tag: [
    bytes(8) as Codec<Uint8Array>,
    "First 8 bytes of the SHA-1 of its instructions; part of its symbol.",
  ],
  jited_prog_len: [u32, "Bytes of machine code."],
  xlated_prog_len: [u32, "Bytes of BPF code after the kernel rewrote it."],
  jited_prog_insns: [x64, "Machine code: offset in `data`."],
  xlated_prog_insns: [x64, "BPF code: offset in `data`."],
  load_time: [u64, "When it was loaded, in ns since boot."],
  created_by_uid: [u32, "User who loaded it."],
  nr_map_ids: [u32, "Number of maps that it uses."],
  map_ids: [x64, "Ids of the maps: offset in `data`."],
  name: [chars(16) as FixedCodec<string>, "Name given when it was loaded, truncated to 15 bytes."],
  ifindex: [u32, "Network device to which it is offloaded, or 0."],
  gpl_compatible: [
    hex(u32) as FixedCodec<number>,
    "The first bit says whether its license is compatible with the GPL.",
  ],
  netns_dev: [u64, "Device of the network namespace of `ifindex`."],
  netns_ino: [u64, "Inode of the network namespace of `ifindex`."],
  nr_jited_ksyms: [u32, "Number of functions in the machine code."],
  nr_jited_func_lens: [u32, "Number of function lengths."],
  jited_ksyms: [x64, "Addresses of the functions: offset in `data`."],
  jited_func_lens: [x64, "Bytes of the functions: offset in `data`."],
  btf_id: [u32, "Type information of the program: `id` of an entry of BPF_BTF."],
  func_info_rec_size: [u32, "Bytes of an entry of `func_info`."],
  func_info: [x64, "Type of each function: offset in `data`."],
  nr_func_info: [u32, "Number of entries of `func_info`."],
  nr_line_info: [u32, "Number of entries of `line_info`."],
  line_info: [x64, "Source line of BPF instructions: offset in `data`."],
  jited_line_info: [x64, "Address of the machine code of each source line: offset in `data`."],
  nr_jited_line_info: [u32, "Number of entries of `jited_line_info`."],
  line_info_rec_size: [u32, "Bytes of an entry of `line_info`."],
  jited_line_info_rec_size: [u32, "Bytes of an entry of `jited_line_info`."],
  nr_prog_tags: [u32, "Number of tags."],
  prog_tags: [x64, "Tags of the functions: offset in `data`."],
  run_time_ns: [u64, "Time spent in the program, in ns, if the kernel was set to measure it."],
  run_cnt: [u64, "Number of runs, if the kernel was set to count them."],
  recursion_misses: [u64, "Number of runs skipped because it was already running."],
  verified_insns: [u32, "Instructions checked by the verifier."],
  attach_btf_obj_id: [u32, "BTF object of the function to which it is attached."],
  attach_btf_id: [u32, "Type id of the function to which it is attached."],
  reserved: [reserved(4) as OptionalCodec<Uint8Array>, "Padding up to a multiple of 8."],
} as const;

/** `struct bpf_prog_info`; fields that the recording kernel's headers did not have are zero. */
export type BpfProgInfo = ExtensibleValue<typeof BPF_INFO_FIELDS>;

/** The fields of a BPF program of BPF_PROG_INFO. */
export const BPF_PROG_FIELDS = {
  info_len: [u32, "Size of `bpf_prog_info` in the headers that perf was built with."],
  data_len: [counter(u32, "data") as HiddenCodec, "Bytes of `data`."],
  arrays: [
    flags(u64, {
      0x1: "JITED_INSNS",
      0x2: "XLATED_INSNS",
      0x4: "MAP_IDS",
      0x8: "JITED_KSYMS",
      0x10: "JITED_FUNC_LENS",
      0x20: "FUNC_INFO",
      0x40: "LINE_INFO",
      0x80: "JITED_LINE_INFO",
      0x100: "PROG_TAGS",
    }) as FixedCodec<bigint>,
    "Arrays in `data`.",
  ],
  info: [
    extensible("bpf_prog_info", BPF_INFO_FIELDS, { field: "info_len" }) as Codec<BpfProgInfo>,
    "Result of `BPF_OBJ_GET_INFO_BY_FD`, with offsets in `data` in place of addresses.",
  ],
  data: [
    bytes(countedBy("data_len")) as Codec<Uint8Array>,
    "The arrays, each padded to 8 bytes; see `bpfProgArrays`.",
  ],
} as const;

/** A BPF program: `struct perf_bpil` of `tools/perf/util/bpf-utils.h`. */
export type BpfProg = StructValue<typeof BPF_PROG_FIELDS>;

/** The fields of BPF_PROG_INFO. */
export const BPF_PROG_INFO_FIELDS = {
  count: [counter(u32, "progs") as HiddenCodec, "Number of programs."],
  progs: [
    array(struct("perf_bpil", BPF_PROG_FIELDS), countedBy("count")) as Codec<
      StructValue<typeof BPF_PROG_FIELDS>[]
    >,
    "The programs that were loaded, by id.",
  ],
} as const;

/** BPF_PROG_INFO: BPF programs that were loaded. */
export type BpfProgInfos = StructValue<typeof BPF_PROG_INFO_FIELDS>;

export const bpfProgInfos: Codec<BpfProgInfos> = struct("bpf_prog_infos", BPF_PROG_INFO_FIELDS);

const BTF_NODE_FIELDS = {
  id: [u32, "Id of the BTF object; a program's `btf_id` refers to it."],
  data_size: [counter(u32, "data") as HiddenCodec, "Bytes of `data`."],
  data: [
    bytes(countedBy("data_size")) as Codec<Uint8Array>,
    "Type information in the BTF format, beginning with its magic `eb9f`.",
  ],
} as const;
/** The fields of BPF_BTF. */
export const BPF_BTF_FIELDS = {
  count: [counter(u32, "btfs") as HiddenCodec, "Number of objects."],
  btfs: [
    array(struct("btf_node", BTF_NODE_FIELDS), countedBy("count")) as Codec<
      StructValue<typeof BTF_NODE_FIELDS>[]
    >,
    "The objects, by id.",
  ],
} as const;

/** BPF_BTF: type information of BPF programs. */
export type BpfBtfs = StructValue<typeof BPF_BTF_FIELDS>;

export const bpfBtfs: Codec<BpfBtfs> = struct("bpf_btfs", BPF_BTF_FIELDS);

/** The arrays of a BPF program. An array that was not recorded is missing. */
export interface BpfProgArrays {
  /** Machine code of all functions, in the order of `jited_func_lens`. */
  jited_insns?: Uint8Array;
  /** BPF code, 8 bytes an instruction. */
  xlated_insns?: Uint8Array;
  /** Ids of the maps that the program uses. */
  map_ids?: number[];
  /** Start address of each function's machine code. */
  jited_ksyms?: bigint[];
  /** Bytes of each function's machine code. */
  jited_func_lens?: number[];
  /** `struct bpf_func_info` of each function: where it begins and its BTF type. */
  func_info?: Uint8Array[];
  /** `struct bpf_line_info` of each source line: instruction, file, text, line and column. */
  line_info?: Uint8Array[];
  /** Address of the machine code of each entry of `line_info`. */
  jited_line_info?: bigint[];
  /** Tag of each function, 8 bytes each. */
  prog_tags?: Uint8Array[];
}

/**
 * Splits a BPF program's `data` into its arrays.
 *
 * The layout is that of `bpil_array_desc` in `tools/perf/util/bpf-utils.c`: `info` has the offset,
 * count and element size of each array; a bit of `arrays` is set for each array that was recorded.
 *
 * @param prog A program of the BPF_PROG_INFO section.
 * @param options Byte order of the file; little-endian by default.
 * @throws {PerfDataError} If an array exceeds `data`.
 *
 * @example
 * ```ts
 * import { bpfProgArrays } from "@perfdata/format/features";
 * import { decodeFeature } from "@perfdata/format";
 * import { HEADER_BPF_PROG_INFO } from "@perfdata/format/constants";
 * import { assert, assertEquals } from "@std/assert";
 *
 * const section = new Uint8Array(4 + 16 + 64 + 8);
 * const view = new DataView(section.buffer);
 * view.setUint32(0, 1, true); // one program
 * view.setUint32(4, 64, true); // info_len
 * view.setUint32(8, 8, true); // data_len
 * view.setUint32(12, 0x4, true); // arrays: MAP_IDS
 * view.setUint32(20 + 52, 2, true); // nr_map_ids
 * view.setUint32(84, 7, true);
 * view.setUint32(88, 9, true);
 * const feature = decodeFeature(HEADER_BPF_PROG_INFO, section);
 * assert(feature.name === "BPF_PROG_INFO");
 * assertEquals(feature.value.progs.map((prog) => bpfProgArrays(prog)), [{ map_ids: [7, 9] }]);
 * ```
 */
export function bpfProgArrays(
  prog: BpfProg,
  options: { readonly littleEndian?: boolean } = {},
): BpfProgArrays {
  const { info, data, arrays } = prog;
  const littleEndian = options.littleEndian ?? true;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const arrayBytes = (
    bit: number,
    name: string,
    offset: bigint,
    count: number,
    size: number,
    least = 1,
  ): Uint8Array | undefined => {
    if ((arrays & (1n << BigInt(bit))) === 0n) return undefined;
    const at = Number(offset);
    if (at + count * size > data.length || (count > 0 && size < least)) {
      throw new PerfDataError(
        `bpf_prog_info.${name}: ${count} elements of ${size} bytes at ${at}, expected elements ` +
          `of at least ${least} up to ${data.length}`,
      );
    }
    return data.subarray(at, at + count * size);
  };
  const split = (whole: Uint8Array | undefined, count: number, size: number) =>
    whole && Array.from({ length: count }, (_, i) => whole.subarray(i * size, (i + 1) * size));
  const u32s = (whole: Uint8Array | undefined) =>
    whole &&
    Array.from({ length: whole.length / 4 }, (_, i) =>
      view.getUint32(whole.byteOffset - data.byteOffset + 4 * i, littleEndian));
  const u64s = (whole: Uint8Array | undefined, count: number, size: number) =>
    whole &&
    Array.from({ length: count }, (_, i) =>
      view.getBigUint64(whole.byteOffset - data.byteOffset + size * i, littleEndian));
  const i = info;
  const found: BpfProgArrays = {};
  const set = <K extends keyof BpfProgArrays>(name: K, value: BpfProgArrays[K] | undefined) => {
    if (value !== undefined) found[name] = value;
  };
  set("jited_insns", arrayBytes(0, "jited_prog_insns", i.jited_prog_insns, i.jited_prog_len, 1));
  set(
    "xlated_insns",
    arrayBytes(1, "xlated_prog_insns", i.xlated_prog_insns, i.xlated_prog_len, 1),
  );
  set("map_ids", u32s(arrayBytes(2, "map_ids", i.map_ids, i.nr_map_ids, 4)));
  set(
    "jited_ksyms",
    u64s(arrayBytes(3, "jited_ksyms", i.jited_ksyms, i.nr_jited_ksyms, 8), i.nr_jited_ksyms, 8),
  );
  set(
    "jited_func_lens",
    u32s(arrayBytes(4, "jited_func_lens", i.jited_func_lens, i.nr_jited_func_lens, 4)),
  );
  set(
    "func_info",
    split(
      arrayBytes(5, "func_info", i.func_info, i.nr_func_info, i.func_info_rec_size),
      i.nr_func_info,
      i.func_info_rec_size,
    ),
  );
  set(
    "line_info",
    split(
      arrayBytes(6, "line_info", i.line_info, i.nr_line_info, i.line_info_rec_size),
      i.nr_line_info,
      i.line_info_rec_size,
    ),
  );
  const jited = i.jited_line_info_rec_size;
  set(
    "jited_line_info",
    u64s(
      arrayBytes(7, "jited_line_info", i.jited_line_info, i.nr_jited_line_info, jited, 8),
      i.nr_jited_line_info,
      jited,
    ),
  );
  set(
    "prog_tags",
    split(arrayBytes(8, "prog_tags", i.prog_tags, i.nr_prog_tags, 8), i.nr_prog_tags, 8),
  );
  return found;
}
