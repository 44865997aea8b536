import { assertEquals } from "@std/assert";
import type { Resolution } from "@perfdata/symbols/resolver";
import { FUNCTION_KIND, functionNames, type Profile } from "../columns/profile.ts";
import { profiled, type Small, type SmallNames } from "../testing.ts";

/**
 * A symbol of 16 bytes, and the frames at an address in it, innermost first. The last frame is not
 * inlined.
 */
function resolution(
  symbol: string,
  start: number,
  frames: readonly (readonly [name: string, file?: string, line?: number])[],
): Resolution {
  return {
    symbol: { name: symbol, start, end: start + 0x10 },
    frames: frames.map(([name, file, line = 0], i) => ({
      ...{ name, function: name, linkageName: undefined, scope: undefined, file, line },
      ...{ column: 0, discriminator: 0, inlined: i < frames.length - 1 },
    })),
    cause: undefined,
  };
}

const BUILD_ID = "ab".repeat(20);
const KERNEL = 0xffff_ffff_8100_0000n;

/**
 * A program without a build id, a library with one, generated code, the kernel, and unmapped
 * places.
 */
const RECORDING: Small = {
  maps: [
    { path: "/bin/small", at: 0x1000n, pgoff: 0x200n },
    { path: "/lib/known.so", at: 0x3000n, buildId: BUILD_ID },
    { path: "//anon", at: 0x5000n },
    { path: "[kernel.kallsyms]_text", at: KERNEL, size: 0x100_0000n, misc: 1, pid: -1 },
  ],
  samples: [
    { tid: 7, time: 1n, ips: [0x1010n, 0x3010n] },
    { tid: 7, time: 2n, ips: [0x3020n] },
    { tid: 7, time: 3n, ips: [0x5008n] },
    { tid: 7, time: 4n, ips: [KERNEL + 0x10n], misc: 1 },
    { tid: 7, time: 5n, ips: [0x9000n] },
    { tid: 7, time: 6n, ips: [0xffff_ffff_f000_0000n], misc: 1 },
    { tid: 7, time: 7n, ips: [0x9000n], misc: 3 },
    { tid: 7, time: 8n, ips: [0x3010n] },
  ],
};

const NAMES: SmallNames = [
  [
    { path: "/bin/small", kind: "elf" },
    0x210,
    resolution("work", 0x200, [["inner", "a.c", 3], ["__work", "a.c", 9]]),
  ],
  [
    { path: "/lib/known.so", kind: "elf", buildId: BUILD_ID },
    0x10,
    resolution("known", 0x10, [["known"]]),
  ],
  [
    { path: "/lib/known.so", kind: "elf", buildId: BUILD_ID },
    0xf,
    resolution("before", 0, [["before"]]),
  ],
  [
    { path: "/lib/known.so", kind: "elf", buildId: BUILD_ID },
    0x20,
    { ...resolution("", 0x20, [["??", "b.c", 5]]), symbol: undefined },
  ],
];

const { USER, KERNEL: OF_KERNEL, JIT, OTHER, LEVEL, INLINED, UNVERIFIED } = FUNCTION_KIND;

/** A line for each place: object, address, and its frames with their kind. */
function placeLines(profile: Profile): string[] {
  const { places, frames, functions, objects, files } = profile;
  const names = functionNames(profile);
  const levels: Readonly<Record<number, string>> = {
    [USER]: "user",
    [OF_KERNEL]: "kernel",
    [JIT]: "jit",
    [OTHER]: "other",
  };
  return Array.from(places.object, (object, place) => {
    const of = places.frames.subarray(places.start[place], places.start[place + 1]);
    const shown = Array.from(of, (frame) => {
      const number = frames.function[frame] ?? -1;
      const kind = functions.kind[number] ?? -1;
      const file = frames.file[frame] ?? -1;
      return [
        names[number],
        levels[kind & LEVEL],
        ...((kind & INLINED) === 0 ? [] : ["inlined"]),
        ...((kind & UNVERIFIED) === 0 ? [] : ["unverified"]),
        ...(file < 0 ? [] : [`${files[file]}:${frames.line[frame]}`]),
      ].join(" ");
    });
    const path = object < 0 ? "-" : objects[object]?.path;
    return `${path} ${(places.address[place] ?? 0).toString(16)}: ${shown.join(", ")}`;
  });
}

Deno.test("namePlaces: places give the functions that are there, with level, lines and trust", async () => {
  const profile = await profiled(RECORDING, { lines: true, unmapped: true }, NAMES);
  assertEquals(placeLines(profile), [
    // The symbol's name, not the one in debug information; inlined functions have only the latter.
    "/bin/small 210: inner user inlined unverified a.c:3, work user unverified a.c:9",
    "/lib/known.so 10: known user",
    // A caller has the address of its call, before the return address.
    "/lib/known.so f: before user",
    // A line without a function.
    "/lib/known.so 20: [known.so] user b.c:5",
    "/tmp/perf-7.map 5008: [JIT] tid 7 jit",
    // Kernel addresses are negative: 0x7f000000 below 0, and 0x10 from there.
    "[kernel.kallsyms] -7efffff0: [kernel.kallsyms] kernel",
    // Unmapped: the CPU mode gives the level. The hypervisor's sample has a chain of the kernel.
    "- 9000: [unknown] user",
    "- -10000000: [unknown] kernel",
    "- 9000: [unknown] other",
    "- 9000: [unknown] kernel",
  ]);
  assertEquals(profile.trust.split("; "), [
    // Of eight samples, those at 0x1010, 0x3010 and 0x3020 have names or lines; both at 0x9000 and
    // the kernel's are unmapped.
    "37.5% of samples have a function (without: unmapped 37.5%, file missing 12.5%, JIT 12.5%)",
    "25% have callers",
    "12.5% by files that nothing verifies",
  ]);
});

Deno.test("namePlaces: unmapped: false makes one place of unmapped addresses of each level", async () => {
  const samples = [0x9000n, 0x9100n, 0xa000n].map((ip, i) => ({
    ...{ tid: 7, time: BigInt(i + 1), ips: [ip] },
  }));
  const shown = async (unmapped: boolean) => placeLines(await profiled({ samples }, { unmapped }));
  assertEquals(await shown(false), ["- 0: [unknown] user"]);
  assertEquals(await shown(true), [
    ..."9000 9100 a000".split(" ").map((address) => `- ${address}: [unknown] user`),
  ]);
});

Deno.test("namePlaces: functions of one name and object are one, of another object or line they are not", async () => {
  const of = (path: string, address: number, line: number): SmallNames[number] => [
    { path, kind: "elf", buildId: BUILD_ID },
    address,
    resolution("same", address & ~0xf, [["same", "a.c", line]]),
  ];
  const maps = [
    { path: "/a", at: 0x1000n, buildId: BUILD_ID },
    { path: "/b", at: 0x2000n, buildId: "cd".repeat(20) },
  ];
  const samples = [0x1010n, 0x1011n, 0x1012n, 0x2010n].map((ip, i) => ({
    ...{ tid: 7, time: BigInt(i + 1), ips: [ip] },
  }));
  const [object, address, found] = of("/b", 0x10, 1);
  const profile = await profiled({ maps, samples }, {}, [
    of("/a", 0x10, 1),
    of("/a", 0x11, 1),
    of("/a", 0x12, 2),
    [{ ...object, buildId: "cd".repeat(20) }, address, found],
  ]);
  assertEquals([functionNames(profile), [...profile.functions.object]], [["same", "same"], [0, 1]]);
  // Two lines in /a, one in /b.
  assertEquals([[...profile.frames.function], [...profile.frames.line]], [[0, 0, 1], [1, 2, 1]]);
  assertEquals([...profile.places.frames], [0, 0, 1, 2]);
});
