import type { Engine } from "@perfdata/session/engine";
import { IntColumn } from "./columns.ts";
import type { SampleColumns, StackColumns } from "./profile.ts";

/**
 * Stacks whose callers are where their calls are. A call chain has the addresses that calls return
 * to, and these may belong to the next line, to what is inlined after the call or, where a call does
 * not return, to the next function; the byte before is in the call.
 *
 * What is interrupted has no call: where a chain goes from a process to the kernel, the address is
 * that of the instruction itself. So are addresses that were unwound or recorded as branches, and
 * those that were sampled.
 */
export function atCalls(
  { places, stacks: table }: Engine,
  { parent, place }: StackColumns,
  samples: SampleColumns,
): { readonly stacks: StackColumns; readonly samples: SampleColumns } {
  const count = parent.length;
  const isReturn = new Uint8Array(count);
  for (let node = 0; node < count; node++) {
    const caller = parent[node] as number;
    if (caller < 0 || isReturn[caller] === 1 || table.isExact(caller)) continue;
    const from = place[caller] as number;
    if (places.object(from) < 0) continue;
    if (places.cpumode(from) === places.cpumode(place[node] as number)) isReturn[caller] = 1;
  }
  const parents = new IntColumn();
  const calls = new IntColumn();
  for (let node = 0; node < count; node++) {
    const at = place[node] as number;
    parents.push(parent[node] as number);
    calls.push(isReturn[node] === 1 ? places.before(at) : at);
  }
  // What was sampled at the very address that a call returns to is not in the call.
  const sampled = new Map<number, number>();
  const stack = Int32Array.from(samples.stack.subarray(0, samples.length), (node) => {
    if (node < 0 || isReturn[node] === 0) return node;
    let own = sampled.get(node);
    if (own === undefined) {
      own = parents.length;
      parents.push(parent[node] as number);
      calls.push(place[node] as number);
      sampled.set(node, own);
    }
    return own;
  });
  return {
    stacks: { parent: parents.array(), place: calls.array() },
    samples: { ...samples, stack },
  };
}
