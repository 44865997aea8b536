/**
 * A process that tries one input after another, and reports the current one. `fuzz.ts` watches it,
 * since an endless loop cannot end itself.
 *
 * Arguments: the members of {@linkcode RunnerOptions}.
 */
import process from "node:process";
import { isExpected } from "./commands.ts";
import { fieldsOf, seeds } from "./corpus.ts";
import type { Field, Kind, Place, Seed, Target } from "./kinds/kind.ts";
import { applied, type Change, changesOf, smaller } from "./mutate.ts";
import { Random } from "./random.ts";
import { KINDS, targets } from "./targets.ts";

/** A line of the runner's output. */
export type RunnerLine =
  | {
    readonly kind: "finding";
    readonly signature: string;
    readonly file: string;
    readonly origin: Origin;
  }
  | Slow & { readonly kind: "slow" }
  | { readonly kind: "done"; readonly inputs: number; readonly runs: number };

/** Origin of an input, and the number that determines a target's choices. */
export interface Origin extends Pick<Seed, "kind" | "name" | "ours"> {
  readonly turn: number;
}

/** A slow run for the size of its input. */
export interface Slow {
  readonly target: string;
  /** Milliseconds of processor time. */
  readonly milliseconds: number;
  readonly bytes: number;
  readonly file: string;
}

/** Time of a run per byte that it read; below this, it is the time of any run. */
export function slowness({ milliseconds, bytes }: Slow): number {
  return Math.max(0, milliseconds - 200) / (bytes + 4096);
}

/** The current input, in the file `current.json` of the directory. */
export interface Current {
  readonly input: number;
  readonly run: number;
  readonly target: string;
  readonly origin: Origin;
}

/** Range of inputs, and paths. */
export interface RunnerOptions {
  readonly seed: number;
  /** Number of the first input. */
  readonly first: number;
  /** Number after the last input. */
  readonly last: number;
  /** Time of the end. */
  readonly milliseconds: number;
  /** Whether to use only files of this repository as seeds. */
  readonly ownOnly: boolean;
  /** The only kind of inputs; all if missing. */
  readonly kind?: Kind | undefined;
  /** Folder for output. */
  readonly folder: string;
}

/** Number of tools tried with one input; all entry points of the library are. */
const TOOLS_AN_INPUT = 3;

/** Signature of an error, equal for all inputs with the same fault. */
export function signatureOf(target: string, error: unknown): string {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const frame = /\n\s+at .*?([\w.]+\.ts:\d+)/.exec(stack ?? "")?.[1] ?? "";
  const text = message.split("\n")[0]?.replace(/\b(0x)?[\da-f]*\d[\da-f]*\b/g, "N").slice(0, 80);
  return `${target}: ${name}: ${text} (${frame})`;
}

/** Runs a target. Returns the signature of an error. */
export async function attempt(
  target: Target,
  bytes: Uint8Array<ArrayBuffer>,
  place: Place,
  random: Random,
  seed: string,
): Promise<string | undefined> {
  try {
    await target.run(bytes, place, random, seed);
    return undefined;
  } catch (error) {
    return isExpected(error) ? undefined : signatureOf(target.name, error);
  }
}

async function main(options: RunnerOptions) {
  const { seed, first, last, milliseconds, ownOnly, folder } = options;
  const all = await seeds(ownOnly);
  const found = targets();
  const others = KINDS.map(({ kind }) => ({ name: kind }));
  const fields = new Map<Seed, readonly Field[]>();
  const known = new Set<string>();
  const place = { path: `${folder}/input.data`, folder: `${folder}/out` };
  Deno.mkdirSync(place.folder, { recursive: true });
  const end = performance.now() + milliseconds;
  const say = (line: RunnerLine): void => console.log(JSON.stringify(line));
  let slowest = 0;
  let input = first;
  let runs = 0;
  for (; input < last && performance.now() < end; input++) {
    const random = new Random(Math.imul(seed, 0x9e3779b1) ^ input);
    // Recordings are read by most code; other kinds of input have equal numbers of turns.
    const kind = options.kind ?? (random.once(3) ? random.named(others).name : "recording");
    const base = random.named(all.filter((seed) => seed.kind === kind));
    let own = fields.get(base);
    if (own === undefined) fields.set(base, own = await fieldsOf(base));
    const changes = changesOf(base, own, all, random);
    // Half of the inputs have valid checksums, which gets them further.
    const seal = random.once(2) ? KINDS.find((known) => known.kind === kind)?.seal : undefined;
    const made = (some: readonly Change[]): Uint8Array<ArrayBuffer> => {
      const bytes = applied(base.bytes, some);
      seal?.(bytes);
      return bytes;
    };
    const bytes = made(changes);
    Deno.writeFileSync(place.path, bytes);
    for (const target of chosen(found, base, random)) {
      runs++;
      const turn = random.next();
      const origin: Origin = { kind, name: base.name, ours: base.ours, turn };
      const current: Current = { input, run: runs, target: target.name, origin };
      Deno.writeTextFileSync(`${folder}/current.json`, JSON.stringify(current));
      const before = process.cpuUsage();
      const signature = await attempt(target, bytes, place, new Random(turn), base.name);
      const { user, system } = process.cpuUsage(before);
      const slow = {
        ...{ target: target.name, milliseconds: (user + system) / 1000, bytes: bytes.length },
        file: `${folder}/slow-${input}-${target.name.replaceAll(" ", "-")}.data`,
      };
      if (slowness(slow) > slowest) {
        slowest = slowness(slow);
        Deno.writeFileSync(slow.file, bytes);
        say({ kind: "slow", ...slow });
      }
      if (signature === undefined || known.has(signature)) continue;
      known.add(signature);
      const wrong = async (fewer: readonly Change[]): Promise<boolean> => {
        const changed = made(fewer);
        Deno.writeFileSync(place.path, changed);
        return await attempt(target, changed, place, new Random(turn), base.name) ===
          signature;
      };
      const least = await smaller(changes, wrong);
      const file = `${folder}/finding-${input}-${target.name.replaceAll(" ", "-")}.data`;
      Deno.writeFileSync(file, made(least));
      say({ kind: "finding", signature, file, origin });
      Deno.writeFileSync(place.path, bytes);
    }
  }
  say({ kind: "done", inputs: input - first, runs });
}

/** All entry points of the library, and a few tools. */
function chosen(found: readonly Target[], { kind }: Seed, random: Random): Target[] {
  const fitting = found.filter((target) => target.kind === kind);
  if (kind !== "recording") return fitting;
  return [...new Set(Array.from({ length: TOOLS_AN_INPUT + 2 }, () => random.named(fitting)))];
}

if (import.meta.main) {
  const [seed = 1, first = 0, last = 1, milliseconds = 1000] = Deno.args.map(Number);
  const [, , , , from, folder = "", name] = Deno.args;
  const kind = KINDS.map(({ kind }) => kind).concat("recording").find((kind) => kind === name);
  await main({ seed, first, last, milliseconds, ownOnly: from === "ours", kind, folder });
}
