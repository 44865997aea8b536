import { CGROUP, layoutOf } from "@perfdata/format/records";

/** Offsets of the fields of a CGROUP record. */
const { id: ID, path: PATH } = layoutOf(CGROUP);
const DECODER = new TextDecoder();

/** Adds the path of a CGROUP record to paths by id; the first record of an id counts. */
export function addCgroup(
  paths: Map<bigint, string>,
  record: Uint8Array<ArrayBuffer>,
  littleEndian: boolean,
): void {
  const view = new DataView(record.buffer, record.byteOffset, record.length);
  const id = view.getBigUint64(ID, littleEndian);
  if (paths.has(id)) return;
  const text = record.subarray(PATH);
  const length = text.indexOf(0);
  paths.set(id, DECODER.decode(text.subarray(0, length < 0 ? undefined : length)));
}
