import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { KERNEL_RECORDS, RecordCodec } from "@perfdata/format/records";
import { ChainStep } from "./chains.ts";
import { Machine } from "../machine/machine.ts";
import { Places } from "../places/places.ts";
import { RecordedObjects } from "../places/recorded_objects.ts";
import { StackTable } from "./stacks.ts";

const KERNEL = -128n;
const USER = -512n;
/** Markers of `perf_event.h`, with the letter of the mode of the following entries. */
const MARKERS: readonly (readonly [bigint, string])[] = [
  [-32n, "h"], // HV
  [KERNEL, "k"],
  [USER, "u"],
  [-2176n, "K"], // GUEST_KERNEL
  [-2560n, "U"], // GUEST_USER
];
const LETTERS = "-kuhKU";

/** Converts chains to stacks, and stacks to text, outermost caller first. */
class Chains {
  readonly #le: boolean;
  readonly #places: Places;
  readonly #stacks = new StackTable();
  readonly #step: ChainStep;
  readonly #thread: number;

  readonly #isUnwound: boolean;

  constructor(littleEndian: boolean, { calls = false, isUnwound = false } = {}) {
    this.#isUnwound = isUnwound;
    this.#le = littleEndian;
    const machine = new Machine(littleEndian);
    const recorded = new RecordedObjects({ littleEndian, isGoogleDialect: false });
    this.#places = new Places(machine, recorded);
    if (calls) {
      // Calls are looked up in mapped code only.
      const body = { pid: 7, tid: 7, addr: 0n, len: 0x10000n, pgoff: 0n, filename: "/bin/a" };
      const mmap = { type: 1, name: "MMAP", misc: 2, body } as const;
      const bytes = new RecordCodec(KERNEL_RECORDS).encode(mmap, { littleEndian });
      machine.apply(bytes, new DataView(bytes.buffer), 0, bytes.length);
    }
    this.#step = new ChainStep(this.#places, this.#stacks, littleEndian, calls);
    this.#thread = machine.thread(7, 7);
  }

  text(chain: readonly bigint[], mode: number, ip: bigint): string {
    const view = new DataView(new ArrayBuffer(8 * chain.length));
    chain.forEach((entry, i) => view.setBigUint64(8 * i, BigInt.asUintN(64, entry), this.#le));
    const hi = Number(BigInt.asIntN(32, ip >> 32n));
    const lo = Number(BigInt.asIntN(32, ip));
    const place = this.#places.find(this.#thread, mode, hi, lo);
    const frames: string[] = [];
    const sample = {
      ...{ thread: this.#thread, mode, hi, lo, place, view, at: 0, length: chain.length },
      isUnwound: this.#isUnwound,
    };
    for (
      let node = this.#step.stack(sample, 0);
      node >= 0;
      node = this.#stacks.parent[node] as number
    ) {
      const at = this.#stacks.place[node] as number;
      frames.unshift(`${LETTERS[this.#places.cpumode(at)]}${this.#places.address(at)}`);
    }
    return frames.join(" ");
  }
}

Deno.test("ChainStep: entries after a context marker have the CPU mode of the marker", () => {
  for (const littleEndian of [true, false]) {
    for (const [marker, letter] of MARKERS) {
      const text = new Chains(littleEndian).text([marker, 5n, 6n, USER, 9n], 2, 5n);
      assertEquals(text, `u9 ${letter}6 ${letter}5${letter === "u" ? "" : " u5"}`);
    }
  }
});

Deno.test("ChainStep: the cookie of a deferred chain and chains with unknown markers are skipped", () => {
  const chains = new Chains(true);
  // PERF_CONTEXT_USER_DEFERRED, and the cookie after it.
  assertEquals(chains.text([KERNEL, 5n, -640n, 77n], 1, 5n), "k5");
  // PERF_CONTEXT_GUEST alone has no CPU mode: perf ignores such a chain.
  assertEquals(chains.text([-2048n, 5n, 6n], 2, 5n), "u5");
  assertEquals(chains.text([], 2, 5n), "u5");
});

Deno.test("ChainStep: chains that share nodes have the entries that each has alone", () => {
  const address = fc.bigInt({ min: 1n, max: 5n });
  const chain = fc.array(
    fc.oneof({ weight: 4, arbitrary: address }, fc.constantFrom(KERNEL, USER)),
    {
      maxLength: 8,
    },
  );
  fc.assert(fc.property(fc.array(fc.tuple(chain, address), { maxLength: 8 }), (samples) => {
    const together = new Chains(true);
    for (const [chain, ip] of samples) {
      assertEquals(together.text(chain, 2, ip), new Chains(true).text(chain, 2, ip));
    }
  }));
});

Deno.test("ChainStep: callers that simpleperf unwound are in their calls, others are a byte after it", () => {
  const chain = [USER, 100n, 200n, 300n];
  for (const littleEndian of [true, false]) {
    const returns = new Chains(littleEndian, { calls: true });
    assertEquals(returns.text(chain, 2, 100n), "u299 u199 u100");
    const unwound = new Chains(littleEndian, { calls: true, isUnwound: true });
    assertEquals(unwound.text(chain, 2, 100n), "u300 u200 u100");
  }
});
