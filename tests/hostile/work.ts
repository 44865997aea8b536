/**
 * `work.ts KIND [COMMAND]`: the work of each command, or of one in its first call, on recordings
 * that double in size, as JSON lines. Work is counted, not timed: executions of blocks of this
 * project's code (V8's precise coverage), and the elements that methods of arrays and strings
 * process. So it does not depend on the machine.
 */
import { Session } from "node:inspector/promises";
import type { Profiler } from "node:inspector";
import { toolCalls } from "../fuzz/targets.ts";
import { GROWING } from "./growing.ts";

/** Number of doublings, from 4. */
const DOUBLINGS = 10;
const FIRST = 4;

/** A line of the output. */
export interface WorkLine {
  readonly call: string;
  /** Work by number of doublings. */
  readonly work: readonly number[];
}

const OURS = /\/(?:packages|tools|view)\//;
let gone = 0;

type Length = (of: ArrayLike<unknown>, args: readonly unknown[], result: unknown) => number;

/** Counts the elements that a method processes, which coverage does not show. */
function counted(of: object, names: readonly string[], length: Length): void {
  for (const name of names) {
    const method = Reflect.get(of, name);
    Object.defineProperty(of, name, {
      ...Object.getOwnPropertyDescriptor(of, name),
      value: function (this: ArrayLike<unknown>, ...args: unknown[]) {
        const before = this.length;
        const result = Reflect.apply(method, this, args);
        gone += length({ length: before }, args, result);
        return result;
      },
    });
  }
}

/** Distance that a search covers. */
const searched: Length = ({ length }, [, from = 0], found) =>
  Math.max(0, (found as number < 0 ? length : found as number) - Math.max(0, from as number));

function countMethods(): void {
  const { indexOf } = Array.prototype;
  Object.defineProperty(Array.prototype, "includes", {
    configurable: true,
    writable: true,
    value: function (this: unknown[], wanted: unknown) {
      const at = Reflect.apply(indexOf, this, [wanted]) as number;
      gone += at < 0 ? this.length : at;
      return at >= 0 || (wanted !== wanted && this.some((one) => one !== one));
    },
  });
  const elements = Object.getPrototypeOf(Uint8Array.prototype);
  for (const methods of [Array.prototype, elements, String.prototype]) {
    counted(methods, ["indexOf"], searched);
  }
  counted(Array.prototype, ["splice", "shift", "unshift"], ({ length }) => length);
  counted(Array.prototype, ["concat", "slice"], (_, __, result) => (result as unknown[]).length);
}

async function main(kind: string, only: string | undefined): Promise<void> {
  const make = GROWING[kind];
  if (make === undefined) throw new Error(`${kind}: one of ${Object.keys(GROWING).join(", ")}`);
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  const blocks = async (): Promise<number> => {
    const { result } = await session.post(
      "Profiler.takePreciseCoverage",
    ) as Profiler.TakePreciseCoverageReturnType;
    let sum = 0;
    for (const { url, functions } of result) {
      if (!OURS.test(url)) continue;
      for (const { ranges } of functions) for (const { count } of ranges) sum += count;
    }
    return sum;
  };
  countMethods();
  const folder = await Deno.makeTempDir({ prefix: "perfdata-work-" });
  try {
    const work = new Map<string, number[]>();
    for (let k = -1; k <= DOUBLINGS; k++) {
      const path = `${folder}/input.data`;
      // Once in advance, so that modules are loaded.
      Deno.writeFileSync(path, await make(FIRST * 2 ** Math.max(k, 0)));
      const calls = toolCalls({ path, folder });
      const one = calls.find(({ name }) => name === only);
      if (only !== undefined && one === undefined) throw new Error(`no command ${only}`);
      for (const { name, args, run } of one === undefined ? calls : [one]) {
        const call = [name, ...args.filter((arg) => !arg.includes(folder))].join(" ");
        await blocks();
        gone = 0;
        await run();
        const sum = Math.round(gone + await blocks());
        if (k < 0) work.set(call, []);
        else work.get(call)?.push(sum);
      }
    }
    for (const [call, sums] of work) console.log(JSON.stringify({ call, work: sums }));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await main(Deno.args[0] ?? "", Deno.args[1]);
