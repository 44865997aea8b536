import { assertEquals } from "@std/assert";
import { ADDRESS_USE, PlaceUses } from "@perfdata/session";
import type { Resolution } from "@perfdata/symbols/resolver";
import { collected, recordingOf, resolverOf, type SmallNames } from "../testing.ts";
import { functionAt, isUnverified, nameCode } from "./code_names.ts";

const PROGRAM = { path: "/bin/small", kind: "elf" } as const;
const LIBRARY = { path: "/lib/known.so", kind: "elf", buildId: "ab".repeat(20) } as const;

function resolution(
  symbol: Resolution["symbol"],
  ...frames: readonly (readonly [name: string, line: number])[]
): Resolution {
  return {
    symbol,
    frames: frames.map(([name, line], i) => ({
      ...{
        name,
        function: name,
        linkageName: undefined,
        file: line === 0 ? undefined : "a.c",
        line,
      },
      ...{ column: 0, discriminator: 0, inlined: i < frames.length - 1 },
    })),
    cause: undefined,
  };
}

const WORK = { name: "work.part.0", start: 0x200, end: 0x240 };
const NAMES: SmallNames = [
  [PROGRAM, 0x210, resolution(WORK, ["work", 7])],
  [PROGRAM, 0x220, resolution(WORK, ["inner", 3], ["work", 9])],
  [PROGRAM, 0x230, resolution(WORK, ["work", 7])],
  [PROGRAM, 0x300, resolution(undefined, ["ghost", 5])],
  // The same range and name as in the program, in another object.
  [LIBRARY, 0x210, resolution(WORK, ["work", 0])],
];

Deno.test("nameCode: addresses of a symbol are one function of its name; lines and inlined functions are frames", async () => {
  const { engine: { places } } = await collected(
    await recordingOf({
      maps: [
        { path: PROGRAM.path, at: 0x1000n, pgoff: 0x200n },
        { path: LIBRARY.path, at: 0x3000n, pgoff: 0x200n, buildId: LIBRARY.buildId },
      ],
      samples: [0x1010n, 0x1020n, 0x1030n, 0x1100n, 0x1180n, 0x3010n, 0x9000n]
        .map((ip, i) => ({ tid: 7, time: BigInt(i + 1), ips: [ip] })),
    }),
  );
  const uses = new PlaceUses();
  for (let place = 0; place < places.count; place++) uses.use(place, ADDRESS_USE.IP, 1, 1);
  const { names, trust } = await nameCode(places, uses, resolverOf(NAMES));
  const { functions, frames, files } = names;
  const lines = Array.from({ length: places.count }, (_, place) => {
    const number = functionAt(names, place);
    const { name, start, end } = functions.symbol?.[number] ?? {};
    const of = names.places.frames.subarray(
      names.places.start[place],
      names.places.start[place + 1],
    );
    return [
      ...[number, name, start, end, number < 0 ? undefined : isUnverified(names, number)],
      [...of].map((frame) => {
        const file = files[frames.file[frame] ?? -1];
        return `${functions.name[frames.function[frame] ?? -1]} ${file}:${frames.line[frame]}`;
      }).join(", "),
    ];
  });
  const [first, , , ghost, nothing, other, unmapped] = lines;
  assertEquals(lines.slice(0, 3), [
    [first?.[0], "work.part.0", 0x200, 0x240, true, "work.part.0 a.c:7"],
    [first?.[0], "work.part.0", 0x200, 0x240, true, "inner a.c:3, work.part.0 a.c:9"],
    [first?.[0], "work.part.0", 0x200, 0x240, true, "work.part.0 a.c:7"],
  ]);
  assertEquals(ghost?.slice(1), [undefined, undefined, undefined, true, "ghost a.c:5"]);
  assertEquals(nothing, [-1, undefined, undefined, undefined, undefined, " undefined:0"]);
  assertEquals(other?.slice(1), ["work.part.0", 0x200, 0x240, false, "work.part.0 undefined:0"]);
  assertEquals(new Set([first?.[0], ghost?.[0], other?.[0]]).size, 3);
  // A place that was not looked up.
  assertEquals(unmapped, [-1, undefined, undefined, undefined, undefined, ""]);
  assertEquals([trust.resolved.addresses, trust.all.addresses], [5, 7]);
});
