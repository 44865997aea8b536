/**
 * A process that tries one input after the other, and says which: `fuzz.ts` watches it, since what does
 * not end cannot end itself.
 *
 * Arguments: the members of {@linkcode RunnerOptions}.
 */
import process from "node:process";
import { type Field, fieldsOf, type Seed, seeds } from "./corpus.ts";
import { applied, type Change, changesOf, smaller } from "./mutate.ts";
import { Random } from "./random.ts";
import { isExpected, type Place, type Target, targets } from "./targets.ts";

/** A line that the runner prints. */
export type RunnerLine =
  | {
    readonly kind: "finding";
    readonly signature: string;
    readonly file: string;
    /** Whether it was made from a file of this repository. */
    readonly ours: boolean;
  }
  | Slow & { readonly kind: "slow" }
  | { readonly kind: "done"; readonly inputs: number; readonly runs: number };

/** A run that took long for the size of its input. */
export interface Slow {
  readonly target: string;
  /** Milliseconds of processor time. */
  readonly milliseconds: number;
  readonly bytes: number;
  readonly file: string;
}

/** How long a run took for what it read; less than this is the time of any run. */
export function slowness({ milliseconds, bytes }: Slow): number {
  return Math.max(0, milliseconds - 200) / (bytes + 4096);
}

/** What it is at, in the file `current.json` of the directory. */
export interface Current {
  readonly input: number;
  readonly run: number;
  readonly target: string;
  readonly ours: boolean;
}

/** What it tries, and where. */
export interface RunnerOptions {
  readonly seed: number;
  /** Number of the first input. */
  readonly first: number;
  /** Number after that of the last one, at most. */
  readonly last: number;
  /** When it ends at the latest. */
  readonly milliseconds: number;
  /** Whether it starts from files of this repository alone. */
  readonly ownOnly: boolean;
  /** Where it writes. */
  readonly folder: string;
}

/** Tools that are tried with one input; all entries of the library are. */
const TOOLS_AN_INPUT = 3;

/** What kind of fault an error is: the same for all inputs that lead to it. */
export function signatureOf(target: string, error: unknown): string {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const frame = /\n\s+at .*?([\w.]+\.ts:\d+)/.exec(stack ?? "")?.[1] ?? "";
  const text = message.split("\n")[0]?.replace(/\b(0x)?[\da-f]*\d[\da-f]*\b/g, "N").slice(0, 80);
  return `${target}: ${name}: ${text} (${frame})`;
}

/** Runs a target; gives the signature of what is wrong. */
export async function attempt(
  target: Target,
  bytes: Uint8Array<ArrayBuffer>,
  place: Place,
  random: Random,
): Promise<string | undefined> {
  try {
    await target.run(bytes, place, random);
    return undefined;
  } catch (error) {
    return isExpected(error) ? undefined : signatureOf(target.name, error);
  }
}

async function main({ seed, first, last, milliseconds, ownOnly, folder }: RunnerOptions) {
  const all = await seeds(ownOnly);
  const found = targets();
  const fields = new Map<Seed, Field[]>();
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
    const base = random.named(
      random.once(8) ? all.filter(({ kind }) => kind !== "recording") : all,
    );
    let own = fields.get(base);
    if (own === undefined) fields.set(base, own = await fieldsOf(base));
    const changes = changesOf(base, own, all, random);
    const bytes = applied(base.bytes, changes);
    Deno.writeFileSync(place.path, bytes);
    for (const target of chosen(found, base, random)) {
      runs++;
      const current: Current = { input, run: runs, target: target.name, ours: base.ours };
      Deno.writeTextFileSync(`${folder}/current.json`, JSON.stringify(current));
      const turn = random.next();
      const before = process.cpuUsage();
      const signature = await attempt(target, bytes, place, new Random(turn));
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
        const changed = applied(base.bytes, fewer);
        Deno.writeFileSync(place.path, changed);
        return await attempt(target, changed, place, new Random(turn)) === signature;
      };
      const least = await smaller(changes, wrong);
      const file = `${folder}/finding-${input}-${target.name.replaceAll(" ", "-")}.data`;
      Deno.writeFileSync(file, applied(base.bytes, least));
      say({ kind: "finding", signature, file, ours: base.ours });
      Deno.writeFileSync(place.path, bytes);
    }
  }
  say({ kind: "done", inputs: input - first, runs });
}

/** All entries of the library, and a few tools. */
function chosen(found: readonly Target[], { kind }: Seed, random: Random): Target[] {
  const fitting = found.filter((target) => target.kind === kind);
  if (kind !== "recording") return fitting;
  return [...new Set(Array.from({ length: TOOLS_AN_INPUT + 2 }, () => random.named(fitting)))];
}

if (import.meta.main) {
  const [seed = 1, first = 0, last = 1, milliseconds = 1000] = Deno.args.map(Number);
  const [, , , , from, folder = ""] = Deno.args;
  await main({ seed, first, last, milliseconds, ownOnly: from === "ours", folder });
}
