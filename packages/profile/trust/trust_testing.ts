/** Objects with looked-up names, laid out by hand. */
import type { ObjectTrust } from "@perfdata/session";
import { UNRESOLVED_CAUSES } from "@perfdata/symbols/resolver";

const count = (addresses: number, samples: number) => ({ addresses, samples, period: samples });

/** An object with three addresses. One has a function, the others lack it for a reason. */
export function trustedObject(
  path: string,
  cause: string,
  samples: number,
  buildId?: string,
): ObjectTrust {
  return {
    object: { path, kind: "elf", ...(buildId === undefined ? {} : { buildId }) },
    ...{ origin: undefined, bundled: false, refused: [], looked: [], faults: [], faultCount: 0 },
    ...{
      all: count(3, samples),
      resolved: count(1, 0),
      lines: count(0, 0),
      unverified: count(0, 0),
      newest: count(0, 0),
    },
    unresolved: new Map(UNRESOLVED_CAUSES.map((name) => [
      name,
      name === cause ? count(2, samples) : count(0, 0),
    ])),
  };
}
