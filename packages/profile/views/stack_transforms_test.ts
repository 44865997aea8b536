import { assert, assertEquals } from "@std/assert";
import { ProfileBuilder } from "../collecting/profile_builder.ts";
import { FUNCTION_KIND, functionNames, type Profile, totals } from "../columns/profile.ts";
import { DROPPED, transformOf, transformProfile, transformStacks } from "./stack_transforms.ts";

/** A stack as names, outermost first. */
type Names = readonly string[];

/**
 * Functions `aN` of libA, `bN` of libB, `kN` of the kernel, in random stacks; some samples have no
 * stack.
 */
function samplesOf(
  count: number,
  seed: number,
): { readonly stack: Names; readonly period: number }[] {
  let state = seed;
  const next = (below: number) => {
    state = Math.imul(state, 1103515245) + 12345 & 0x7fffffff;
    return (state >> 8) % below;
  };
  return Array.from({ length: count }, () => ({
    stack: Array.from({ length: next(9) }, () => `${"abk"[next(3)]}${next(4)}`),
    period: 1 + next(100),
  }));
}

const SAMPLES = samplesOf(3000, 7);
const OBJECTS: Readonly<Record<string, string>> = { a: "libA", b: "libB", k: "[kernel]" };

function profileOf(samples: typeof SAMPLES): Profile {
  const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
  const objects = new Map(
    Object.entries(OBJECTS).map(([letter, name]) => [letter, builder.object({ name, path: name })]),
  );
  const thread = builder.thread(1, 1, "t");
  for (const { stack, period } of samples) {
    let node = -1;
    for (const name of stack) {
      const kind = name.startsWith("k") ? FUNCTION_KIND.KERNEL : FUNCTION_KIND.USER;
      const object = objects.get(name[0] as string) ?? -1;
      node = builder.stack(node, builder.place(object, name.charCodeAt(1), [{ name, kind }]));
    }
    builder.sample({ stack: node, event: 0, thread, period });
  }
  return builder.profile();
}

/** Periods by stack. */
function sums(
  samples: Iterable<{ readonly stack: Names; readonly period: number }>,
): [string, number][] {
  const found = new Map<string, number>();
  for (const { stack, period } of samples) {
    const key = stack.join(";");
    found.set(key, (found.get(key) ?? 0) + period);
  }
  return [...found].sort();
}

function* samplesIn(profile: Profile): Generator<{ stack: Names; period: number }> {
  const names = functionNames(profile);
  const { samples, stacks, places, frames } = profile;
  for (let row = 0; row < samples.length; row++) {
    const stack: string[] = [];
    for (let at = samples.stack[row] ?? -1; at >= 0; at = stacks.parent[at] ?? -1) {
      const frame = places.frames[places.start[stacks.place[at] ?? -1] ?? -1] ?? -1;
      stack.unshift(names[frames.function[frame] ?? -1] as string);
    }
    yield { stack, period: samples.period[row] as number };
  }
}

/** Model of each transform for one stack; `undefined` if it is dropped. */
const PLAIN: Readonly<Record<string, (stack: Names) => Names | undefined>> = {
  "focus:a1": (stack) => stack.includes("a1") ? stack.slice(stack.indexOf("a1")) : undefined,
  "callers:a1": (stack) =>
    stack.includes("a1") ? stack.slice(0, stack.indexOf("a1") + 1) : undefined,
  "merge:a1": (stack) => stack.filter((name) => name !== "a1"),
  "having:a1": (stack) => stack.includes("a1") ? stack : undefined,
  "drop:a1": (stack) => stack.includes("a1") ? undefined : stack,
  "recursion:a1": (stack) => {
    const [first, last] = [stack.indexOf("a1"), stack.lastIndexOf("a1")];
    return first < 0 ? stack : [...stack.slice(0, first), ...stack.slice(last)];
  },
  "recursion:": (stack) => {
    const path: string[] = [];
    for (const name of stack) {
      if (path.includes(name)) path.length = path.indexOf(name);
      path.push(name);
    }
    return path;
  },
  "collapse:libA": (stack) =>
    stack.map((name) => name.startsWith("a") ? "[libA]" : name)
      .filter((name, at, all) => name !== "[libA]" || all[at - 1] !== name),
  "only-object:libA": (stack) => some(stack.filter((name) => name.startsWith("a"))),
  "only:user": (stack) => some(stack.filter((name) => !name.startsWith("k"))),
  "only:kernel": (stack) => some(stack.filter((name) => name.startsWith("k"))),
};

function some(stack: Names): Names | undefined {
  return stack.length === 0 ? undefined : stack;
}

Deno.test("transforms: each has the sums of the stacks that it makes one by one, and says what it drops", () => {
  const profile = profileOf(SAMPLES);
  const all = SAMPLES.reduce((sum, { period }) => sum + period, 0);
  for (const [text, plain] of Object.entries(PLAIN)) {
    const wanted = SAMPLES.flatMap(({ stack, period }) => {
      const made = plain(stack);
      return made === undefined ? [] : [{ stack: made, period }];
    });
    const { profile: found, dropped } = transformProfile(profile, [{ text }]);
    assertEquals(sums(samplesIn(found)), sums(wanted), text);
    const kept = wanted.reduce((sum, { period }) => sum + period, 0);
    assertEquals(dropped, [{ period: all - kept, of: all }], text);
    assertEquals(totals(found)[0]?.period, kept, text);
    // Transforms that only change stacks keep all samples.
    if (/^(?:merge|recursion|collapse)/.test(text)) assertEquals(kept, all, text);
    else assert(kept < all, text);
  }
});

Deno.test("transforms: several are applied in order", () => {
  const texts = ["collapse:libB", "drop:k0", "focus:a1", "recursion:", "only:user", "merge:a2"];
  const made = SAMPLES.flatMap(({ stack, period }) => {
    let of: Names | undefined = stack;
    for (const text of texts) {
      const plain = PLAIN[text] ?? {
        "collapse:libB": (stack: Names) =>
          stack.map((name) => name.startsWith("b") ? "[libB]" : name)
            .filter((name, at, all) => name !== "[libB]" || all[at - 1] !== name),
        "drop:k0": (stack: Names) => stack.includes("k0") ? undefined : stack,
        "merge:a2": (stack: Names) => stack.filter((name) => name !== "a2"),
      }[text];
      of = of && plain?.(of);
    }
    return of === undefined ? [] : [{ stack: of, period }];
  });
  const { profile } = transformProfile(profileOf(SAMPLES), texts.map((text) => ({ text })));
  assertEquals(sums(samplesIn(profile)), sums(made));
  assert(made.length > 100);
});

Deno.test("transformStacks: a stack of 200,000 calls takes linear time, and has each function once", () => {
  const count = 200_000;
  const tree = {
    parent: Int32Array.from({ length: count }, (_, row) => row - 1),
    item: Int32Array.from({ length: count }, (_, row) => row % 50_000),
  };
  const chosen = new Uint8Array(50_000).fill(1);
  const { item, of } = transformStacks(tree, { kind: "recursion", chosen });
  assertEquals([item.length, of[count - 1]], [50_000, 49_999]);
});

Deno.test("transformOf: a text that is no transform, or of no object, is none", () => {
  const names = {
    name: ["f"],
    object: Int32Array.of(0),
    kind: Uint8Array.of(0),
    objects: [{ name: "o" }],
    into: () => 0,
  };
  for (const text of ["", "focus", "what:f", "only:jit", "collapse:p", "toString:x"]) {
    assertEquals(transformOf(text, names), undefined, text);
  }
  assertEquals(transformOf("focus:g", names), { kind: "focus", chosen: Uint8Array.of(0) });
  const test = (name: string) => /^f/.test(name);
  assertEquals(transformOf("drop:/^f/", names, test)?.chosen, Uint8Array.of(1));
  const none = transformStacks({ parent: Int32Array.of(-1), item: Int32Array.of(0) }, {
    kind: "focus",
    chosen: Uint8Array.of(0),
  });
  assertEquals([[...none.of], none.bare], [[DROPPED], DROPPED]);
});
