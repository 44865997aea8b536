/**
 * Transforms of stacks: focus on a function, merge, drop, collapse, and so on. Each creates a new
 * tree of stacks, with the new row of each old row's samples.
 *
 * @module
 */
import { byteAt, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import { NodeTable } from "../columns/node_table.ts";
import { FUNCTION_KIND, functionNames, type Profile } from "../columns/profile.ts";
import { pickSamples } from "./filter_profile.ts";
import { frameStacks } from "./frame_stacks.ts";

/** The row of samples that a transform drops. Samples that are left without a stack have -1. */
export const DROPPED: number = -2;

/** A transform, with the functions that it applies to. */
export interface StackTransform {
  /**
   * - `focus`: only stacks with a chosen function, from its outermost call on
   * - `callers`: only stacks with a chosen function, up to its outermost call, which includes the
   * samples of its callees
   * - `merge`: removes frames of chosen functions, whose samples count for their callers
   * - `drop`: removes samples with a chosen function in their stack
   * - `recursion`: a chosen function is in a stack once; frames between two calls of it are removed
   * - `collapse`: consecutive frames of chosen functions become one frame, of `into`
   * - `having`: only stacks with a chosen function, unchanged
   * - `only`: removes frames of other functions, and samples without any chosen function
   */
  readonly kind:
    | "focus"
    | "callers"
    | "merge"
    | "drop"
    | "recursion"
    | "collapse"
    | "having"
    | "only";
  /** 1 for each function that the transform is about. */
  readonly chosen: Uint8Array;
  /** The function that collapsed frames become. */
  readonly into?: number | undefined;
}

/** Stacks of functions: rows whose callers come before them. */
export interface StackTree {
  /** The row of the caller, which is before; -1 for an outermost frame. */
  readonly parent: Int32Array;
  /** The function. */
  readonly item: Int32Array;
}

/** A tree of stacks after a transform. */
export interface TransformedTree extends StackTree {
  /** New row of the samples of each old row; -1 without a stack, or {@linkcode DROPPED}. */
  readonly of: Int32Array;
  /** New row of the samples that had no stack. */
  readonly bare: number;
}

/**
 * Transforms a tree of stacks.
 *
 * @example
 * ```ts
 * import { transformStacks } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * // main → malloc → brk, and main → read.
 * const tree = { parent: Int32Array.of(-1, 0, 1, 0), item: Int32Array.of(0, 1, 2, 3) };
 * const transform = { kind: "merge", chosen: Uint8Array.of(0, 1, 0, 0) } as const;
 * const { parent, item, of } = transformStacks(tree, transform);
 * assertEquals([[...parent], [...item]], [[-1, 0, 0], [0, 2, 3]]);
 * assertEquals([...of], [0, 0, 1, 2]);
 * ```
 */
export function transformStacks(tree: StackTree, transform: StackTransform): TransformedTree {
  if (transform.kind === "recursion") return withoutRecursion(tree, transform.chosen);
  const { parent, item } = tree;
  const { kind, chosen, into = -1 } = transform;
  const nodes = new NodeTable();
  const count = parent.length;
  const node = new Int32Array(count);
  const of = new Int32Array(count);
  // By row: whether the row or a caller of it is a chosen function.
  const within = new Uint8Array(count);
  for (let row = 0; row < count; row++) {
    const up = intAt(parent, row);
    const number = intAt(item, row);
    const caller = up < 0 ? -1 : intAt(node, up);
    const isChosen = chosen[number] === 1;
    const wasWithin = up >= 0 && within[up] === 1;
    const isWithin = wasWithin || isChosen;
    if (isWithin) within[row] = 1;
    let at = caller;
    let isKept = true;
    switch (kind) {
      case "focus":
        isKept = isWithin;
        if (isWithin) at = nodes.node(caller, number);
        break;
      case "callers":
        isKept = isWithin;
        if (!wasWithin) at = nodes.node(caller, number);
        break;
      case "merge":
        if (!isChosen) at = nodes.node(caller, number);
        break;
      case "drop":
        isKept = !isWithin;
        if (!isWithin) at = nodes.node(caller, number);
        break;
      case "collapse":
        if (!isChosen) at = nodes.node(caller, number);
        else if (caller < 0 || nodes.item(caller) !== into) at = nodes.node(caller, into);
        break;
      case "having":
        isKept = isWithin;
        at = nodes.node(caller, number);
        break;
      case "only":
        if (isChosen) at = nodes.node(caller, number);
        isKept = at >= 0;
        break;
    }
    node[row] = at;
    of[row] = isKept ? at : DROPPED;
  }
  const isSelective = kind === "focus" || kind === "callers" || kind === "having" ||
    kind === "only";
  return {
    parent: nodes.parents().slice(),
    item: nodes.items().slice(),
    of,
    bare: isSelective ? DROPPED : -1,
  };
}

/** Removes recursion: a function that is called again below itself continues at its first call. */
function withoutRecursion({ parent, item }: StackTree, chosen: Uint8Array): TransformedTree {
  const count = parent.length;
  const nodes = new NodeTable();
  const of = new Int32Array(count);
  // Linked lists of the rows by caller, in ascending order.
  const first = new Int32Array(count + 1).fill(-1);
  const next = new Int32Array(count);
  for (let row = count - 1; row >= 0; row--) {
    const slot = intAt(parent, row) + 1;
    next[row] = intAt(first, slot);
    first[slot] = row;
  }
  const depth: number[] = [];
  /**
   * The nodes from the outermost one to the current one, by depth. Deeper entries belong to other
   * stacks.
   */
  const path: number[] = [];
  /** Last node of each function. */
  const last = new Int32Array(chosen.length).fill(-1);
  // By row: the replaced values of `path` and `last`, which are restored after its callees.
  const pathBefore = new Int32Array(count);
  const lastBefore = new Int32Array(count);
  const enter = (row: number): void => {
    const up = intAt(parent, row);
    const caller = up < 0 ? -1 : intAt(of, up);
    const below = caller < 0 ? 0 : numberAt(depth, caller) + 1;
    const number = intAt(item, row);
    const known = chosen[number] === 1 ? intAt(last, number) : -1;
    const isAbove = known >= 0 && numberAt(depth, known) < below &&
      path[numberAt(depth, known)] === known;
    const at = isAbove ? known : nodes.node(caller, number);
    depth[at] = isAbove ? numberAt(depth, known) : below;
    of[row] = at;
    const place = numberAt(depth, at);
    pathBefore[row] = path[place] ?? -1;
    lastBefore[row] = intAt(last, number);
    path[place] = at;
    last[number] = at;
  };
  const leave = (row: number): void => {
    path[numberAt(depth, intAt(of, row))] = intAt(pathBefore, row);
    last[intAt(item, row)] = intAt(lastBefore, row);
  };
  let row = intAt(first, 0);
  while (row >= 0) {
    enter(row);
    let following = intAt(first, row + 1);
    while (following < 0 && row >= 0) {
      leave(row);
      following = intAt(next, row);
      row = intAt(parent, row);
    }
    row = following;
  }
  return { parent: nodes.parents().slice(), item: nodes.items().slice(), of, bare: -1 };
}

/** Applies several transforms to a tree of stacks, one after the other. */
export function transformAll(
  tree: StackTree,
  transforms: readonly StackTransform[],
): TransformedTree {
  let { parent, item } = tree;
  let of = Int32Array.from(parent, (_, row) => row);
  let bare = -1;
  for (const transform of transforms) {
    const made = transformStacks({ parent, item }, transform);
    const through = (row: number) => row >= 0 ? intAt(made.of, row) : row === -1 ? made.bare : row;
    of = of.map(through);
    bare = through(bare);
    ({ parent, item } = made);
  }
  return { parent, item, of, bare };
}

/** The functions that transforms refer to. */
export interface TransformNames {
  /** Displayed name of each function. */
  readonly name: readonly string[];
  /** Object of each function; -1 without an object. */
  readonly object: Int32Array;
  /** `FUNCTION_KIND` bits of each function. */
  readonly kind: Uint8Array;
  /** The objects. */
  readonly objects: readonly { readonly name: string }[];
  /** The function that a collapsed object becomes. */
  readonly into: (object: number) => number;
}

/** The words of transforms, with the kind of argument after the colon. */
const TRANSFORM_WORDS = {
  focus: "function",
  callers: "function",
  merge: "function",
  drop: "function",
  having: "function",
  recursion: "function",
  collapse: "object",
  "only-object": "object",
  only: "level",
} as const;

type TransformWord = keyof typeof TRANSFORM_WORDS;

/**
 * Parses a transform such as `focus:main`, `collapse:libc.so.6` or `only:kernel`. `recursion:`
 * applies to all functions.
 *
 * @param test Whether a name is chosen; by default, names are compared with the argument.
 * @returns `undefined` if the text is not a transform.
 */
export function transformOf(
  text: string,
  names: TransformNames,
  test?: (name: string) => boolean,
): StackTransform | undefined {
  const colon = text.indexOf(":");
  const word = text.slice(0, colon);
  const about = text.slice(colon + 1);
  if (!Object.hasOwn(TRANSFORM_WORDS, word)) return undefined;
  const isMeant = test ?? ((name: string) => name === about);
  const where = (of: (fn: number) => boolean) =>
    Uint8Array.from(names.name, (_, fn) => of(fn) ? 1 : 0);
  switch (word as TransformWord) {
    case "only": {
      const level = about === "kernel" ? FUNCTION_KIND.KERNEL : FUNCTION_KIND.USER;
      if (about !== "kernel" && about !== "user") return undefined;
      return {
        kind: "only",
        // Code of a JIT compiler is user code.
        chosen: where((fn) => {
          const of = byteAt(names.kind, fn) & FUNCTION_KIND.LEVEL;
          return of === level || (about === "user" && of === FUNCTION_KIND.JIT);
        }),
      };
    }
    case "collapse":
    case "only-object": {
      const isOf = names.objects.map(({ name }) => isMeant(name));
      const chosen = where((fn) => isOf[intAt(names.object, fn)] === true);
      if (word === "only-object") return { kind: "only", chosen };
      const object = isOf.indexOf(true);
      return object < 0 ? undefined : { kind: "collapse", chosen, into: names.into(object) };
    }
    default: {
      const isAll = word === "recursion" && about === "";
      const kind = word as Exclude<TransformWord, "only" | "collapse" | "only-object">;
      return { kind, chosen: where((fn) => isAll || isMeant(names.name[fn] ?? "")) };
    }
  }
}

/** A profile after transforms, with the dropped periods. */
export interface TransformedProfile {
  /** The profile. Its places are functions, without addresses and lines. */
  readonly profile: Profile;
  /** For each event, the period of dropped samples, and of all samples. */
  readonly dropped: readonly { readonly period: number; readonly of: number }[];
}

/**
 * Transforms the stacks of a profile.
 *
 * @param transforms Texts of transforms; see {@linkcode transformOf}.
 * @param inline `false` first omits inlined functions, so that samples count for their callers.
 */
export function transformProfile(
  profile: Profile,
  transforms: readonly { readonly text: string; readonly test?: (name: string) => boolean }[],
  inline: boolean = true,
): TransformedProfile {
  const { objects, functions, samples } = profile;
  // One more function for each object that may be collapsed.
  const own = functions.name.length;
  const all = {
    name: [...functions.name, ...objects.map(() => "")],
    object: Int32Array.from([...functions.object, ...objects.keys()]),
    kind: new Uint8Array(own + objects.length),
    symbol: functions.symbol,
  };
  all.kind.set(functions.kind);
  for (let fn = 0; fn < own; fn++) {
    const object = intAt(functions.object, fn);
    if (object >= 0) all.kind[own + object] = byteAt(functions.kind, fn) & FUNCTION_KIND.LEVEL;
  }
  const names: TransformNames = {
    name: functionNames({ ...profile, functions: all }),
    object: all.object,
    kind: all.kind,
    objects,
    into: (object) => own + object,
  };
  const found = transforms.map(({ text, test }) => transformOf(text, names, test))
    .filter((transform) => transform !== undefined);
  const before = frameStacks(profile, { by: "function", inline });
  const after = transformAll(before, found);
  const stackOf = (row: number) => {
    const stack = intAt(samples.stack, row);
    return stack < 0 ? after.bare : intAt(after.of, intAt(before.of, stack));
  };
  const kept = new Int32Array(samples.length);
  const dropped = profile.events.map(() => ({ period: 0, of: 0 }));
  let count = 0;
  for (let row = 0; row < samples.length; row++) {
    const sum = dropped[samples.event[row] ?? -1];
    const isDropped = stackOf(row) === DROPPED;
    if (!isDropped) kept[count++] = row;
    if (sum === undefined) continue;
    const period = floatAt(samples.period, row);
    sum.of += period;
    if (isDropped) sum.period += period;
  }
  const rows = kept.subarray(0, count);
  return {
    profile: {
      ...profile,
      functions: all,
      ...placesOfFunctions(all),
      stacks: { parent: after.parent, place: after.item },
      samples: { ...pickSamples(samples, rows), stack: Int32Array.from(rows, stackOf) },
    },
    dropped,
  };
}

/** A frame and a place for each function, without lines and addresses. */
export function placesOfFunctions(
  functions: Pick<Profile["functions"], "object">,
): Pick<Profile, "frames" | "places" | "files"> {
  const count = functions.object.length;
  const numbers = Int32Array.from({ length: count }, (_, fn) => fn);
  return {
    files: [],
    frames: {
      function: numbers,
      file: new Int32Array(count).fill(-1),
      line: new Int32Array(count),
    },
    places: {
      object: functions.object,
      address: new Float64Array(count),
      start: Int32Array.from({ length: count + 1 }, (_, fn) => fn),
      frames: numbers,
    },
  };
}
