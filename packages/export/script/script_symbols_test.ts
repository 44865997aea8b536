import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { assertEquals } from "@std/assert";
import { recordingOf, resolverOf, type SmallNames } from "../../profile/testing.ts";
import { parseFields } from "./script_fields.ts";
import { ScriptText } from "./script_text.ts";

const FRAME = { column: 0, discriminator: 0, linkageName: undefined } as const;
const SMALL = { kind: "elf", path: "/bin/small" } as const;

/**
 * `main` from 0, `leaf` from 10, with `inner` inlined at 12; at 30, `ghost`, which only debug
 * information has.
 */
const NAMES: SmallNames = [
  [SMALL, 4, {
    symbol: { name: "main", start: 0, end: 0x10 },
    frames: [{
      ...FRAME,
      function: "main",
      name: "main",
      inlined: false,
      file: undefined,
      line: 0,
    }],
    cause: undefined,
  }],
  [SMALL, 0x12, {
    symbol: { name: "leaf", start: 0x10, end: 0x20 },
    frames: [
      { ...FRAME, function: "inner", name: "inner", inlined: true, file: "/src/a.h", line: 7 },
      { ...FRAME, function: "leaf", name: "leaf", inlined: false, file: "/src/a.c", line: 9 },
    ],
    cause: undefined,
  }],
  [SMALL, 0x30, {
    symbol: undefined,
    frames: [
      { ...FRAME, function: "ghost", name: "ghost", inlined: false, file: undefined, line: 0 },
    ],
    cause: undefined,
  }],
];

/**
 * Text of two samples: in leaf, called by main, called from an unmapped address; and in main, or at
 * `last`.
 */
async function scriptOf(
  fields: string,
  { inline = false, lines = false, chains = true, last = 0x1004n }: {
    readonly inline?: boolean;
    readonly lines?: boolean;
    readonly chains?: boolean;
    readonly last?: bigint;
  } = {},
): Promise<string[]> {
  const bytes = await recordingOf({
    samples: [
      { tid: 7, time: 10n, ips: [0x1012n, 0x1004n, 0x9000n] },
      { tid: 7, time: 20n, ips: [last] },
    ],
  });
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const decoder = new TextDecoder();
  let text = "";
  const script = new ScriptText(reader.events.all, {
    ...{ wish: parseFields(fields), chains, nanoseconds: false, unmapped: false },
    ...{ wants: { inline, lines }, clock: undefined, options: {} },
    resolver: () => Promise.resolve(resolverOf(NAMES)),
  }, (part) => void (text += decoder.decode(part)));
  await runEngine(reader, [script]);
  return text.split("\n").slice(0, -1);
}

Deno.test("ScriptText: a call chain has symbols with offsets, objects, and [unknown]", async () => {
  assertEquals((await scriptOf("ip,sym,symoff,dso")).map((line) => line.trim()), [
    ...[
      "",
      "12 leaf+0x2 (/bin/small)",
      "4 main+0x4 (/bin/small)",
      "9000 [unknown] ([unknown])",
      "",
    ],
    ...["", "4 main+0x4 (/bin/small)", ""],
  ]);
  assertEquals((await scriptOf("ip,sym"))[1], "\t              12 leaf");
});

Deno.test("ScriptText: an inlined function has its own line before the function around it", async () => {
  const found = await scriptOf("ip,sym,symoff", { inline: true });
  assertEquals(found.slice(0, 4).map((line) => line.trim()), [
    ...["", "12 inner+0x2 (inlined)", "12 leaf+0x2", "4 main+0x4"],
  ]);
});

Deno.test("ScriptText: srcline has file and line, otherwise object and address", async () => {
  const found = await scriptOf("ip,sym,srcline", { lines: true });
  assertEquals(found.slice(1, 5).map((line) => line.trim()), [
    ...["12 leaf", "a.h:7", "4 main", "small[4]"],
  ]);
});

Deno.test("ScriptText: a sample without a chain has address and symbol in its line", async () => {
  assertEquals(
    (await scriptOf("tid,ip,sym,symoff,dso", { chains: false })).map((line) =>
      line.trim().replaceAll(/ +/g, " ")
    ),
    ["7 1012 leaf+0x2 (/bin/small)", "7 1004 main+0x4 (/bin/small)"],
  );
});

Deno.test("ScriptText: a function that only debug information has, has its name and no offset", async () => {
  const found = await scriptOf("ip,sym,symoff,dso", { chains: false, last: 0x1030n });
  assertEquals(found.map((line) => line.trim().replaceAll(/ +/g, " ")), [
    "1012 leaf+0x2 (/bin/small)",
    "1030 ghost (/bin/small)",
  ]);
});
