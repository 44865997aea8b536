import {
  type BpfBtfs,
  type BpfProg,
  bpfProgArrays,
  type BpfProgInfos,
} from "@perfdata/format/features";

/** `sizeof(struct btf_type)`. */
const BTF_TYPE_SIZE = 12;

/**
 * Bytes after a `btf_type` by kind: a fixed number, and a number for each of its `vlen` members.
 */
const BTF_EXTRA: readonly (readonly [number, number])[] = [
  [0, 0], // VOID
  [4, 0], // INT
  [0, 0], // PTR
  [12, 0], // ARRAY
  [0, 12], // STRUCT
  [0, 12], // UNION
  [0, 8], // ENUM
  [0, 0], // FWD
  [0, 0], // TYPEDEF
  [0, 0], // VOLATILE
  [0, 0], // CONST
  [0, 0], // RESTRICT
  [0, 0], // FUNC
  [0, 8], // FUNC_PROTO
  [4, 0], // VAR
  [0, 12], // DATASEC
  [0, 0], // FLOAT
  [4, 0], // DECL_TAG
  [0, 0], // TYPE_TAG
  [0, 12], // ENUM64
];

/**
 * Name of type `id` in a BTF blob (`Documentation/bpf/btf.rst`); `undefined` if the blob does not
 * have it.
 */
function btfTypeName(btf: Uint8Array, id: number, littleEndian: boolean): string | undefined {
  if (btf.length < 24) return undefined;
  const view = new DataView(btf.buffer, btf.byteOffset, btf.byteLength);
  const u32 = (at: number) => view.getUint32(at, littleEndian);
  const headerLength = u32(4);
  const types = headerLength + u32(8);
  const strings = headerLength + u32(16);
  const end = Math.min(types + u32(12), btf.length);
  let at = types;
  for (let type = 1; at + BTF_TYPE_SIZE <= end; type++) {
    if (type === id) {
      const from = strings + u32(at);
      const to = btf.indexOf(0, from);
      return to < 0 ? undefined : new TextDecoder().decode(btf.subarray(from, to));
    }
    const info = u32(at + 4);
    const extra = BTF_EXTRA[(info >>> 24) & 0x1f];
    if (extra === undefined) return undefined;
    at += BTF_TYPE_SIZE + extra[0] + extra[1] * (info & 0xffff);
  }
  return undefined;
}

function functionName(
  prog: BpfProg,
  arrays: ReturnType<typeof bpfProgArrays>,
  i: number,
  btf: Uint8Array | undefined,
  littleEndian: boolean,
): string {
  const tag = arrays.prog_tags?.[i] ?? new Uint8Array(0);
  const hex = Array.from(tag, (byte) => byte.toString(16).padStart(2, "0")).join("");
  let short: string | undefined;
  const info = arrays.func_info?.[i];
  if (btf !== undefined && info !== undefined && info.length >= 8) {
    const view = new DataView(info.buffer, info.byteOffset, info.byteLength);
    short = btfTypeName(btf, view.getUint32(4, littleEndian), littleEndian);
  } else if (i === 0 && prog.info.nr_jited_ksyms === 1) {
    short = prog.info.name === "" ? undefined : prog.info.name;
  } else {
    short = "F";
  }
  return `bpf_prog_${hex}${short === undefined ? "" : `_${short}`}`;
}

/** The lines of BPF_PROG_INFO: each program, sorted by id, with its functions. */
export function bpfProgInfoLines(
  progs: BpfProgInfos,
  btfs: BpfBtfs | undefined,
  littleEndian: boolean,
): string[] {
  const lines: string[] = [];
  for (const prog of [...progs.progs].sort((a, b) => a.info.id - b.info.id)) {
    const { info } = prog;
    const count = info.nr_jited_ksyms;
    if (count !== info.nr_prog_tags || count !== info.nr_jited_func_lens) continue;
    const arrays = bpfProgArrays(prog, { littleEndian });
    const btf = info.btf_id === 0
      ? undefined
      : btfs?.btfs.find(({ id }) => id === info.btf_id)?.data;
    const describe = (i: number) => {
      const address = (arrays.jited_ksyms?.[i] ?? 0n).toString(16);
      const size = arrays.jited_func_lens?.[i] ?? 0;
      return `${functionName(prog, arrays, i, btf, littleEndian)} addr 0x${address} size ${size}`;
    };
    if (count === 1) {
      lines.push(`# bpf_prog_info ${info.id}: ${describe(0)}`);
      continue;
    }
    lines.push(`# bpf_prog_info ${info.id}:`);
    for (let i = 0; i < count; i++) lines.push(`# \tsub_prog ${i}: ${describe(i)}`);
  }
  return lines;
}

export function bpfBtfLines(btfs: BpfBtfs): string[] {
  return btfs.btfs.map(({ id }) => id).sort((a, b) => a - b).map((id) => `# btf info of id ${id}`);
}
