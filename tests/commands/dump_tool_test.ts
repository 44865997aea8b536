/** The command `dump`: filters, exit codes, and a closed pipe. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { emptyAttr, PerfDataWriter } from "@perfdata/format/records";
import { PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME } from "@perfdata/format/constants";
import { fileSink } from "@perfdata/format/files";
import { tool } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;
const fixture = `${root}fixtures/recorded/callchain.perf.data`;
const decoder = new TextDecoder();

const dump = (...args: string[]) => tool("dump", args);

/** The text of each record without raw bytes and statistics. */
function records(out: string): string[] {
  return out.replace(/^\. {2}[0-9a-f]{4}: .*\n/gm, "").split(/\n(?=0x?[0-9a-f]*@)/).slice(1)
    .map((record) => record.replace(/\n+Aggregated stats:[^]*/, "").trimEnd());
}

Deno.test("dump: filters print the matching records of the whole dump", async () => {
  const all = records((await dump(fixture)).out);
  assert(all.length > 20, "the fixture has records");
  const chosen = async (choose: (record: string) => boolean, ...args: string[]): Promise<void> => {
    const { code, out, err } = await dump(...args, fixture);
    assertEquals([code, err], [0, ""], args.join(" "));
    const expected = all.filter(choose);
    assert(expected.length > 0 && expected.length < all.length, `${args}: ${expected.length}`);
    assertEquals(records(out), expected, args.join(" "));
    assertMatch(out, new RegExp(`TOTAL events: +${expected.length}\n`));
  };
  await chosen((r) => /RECORD_(COMM|FORK)\b/.test(r), "--type", "COMM,FORK");
  await chosen((r) => /RECORD_SAMPLE/.test(r), "--type", "9");
  const pid = /\): (\d+)\/\d+: 0x/.exec(all.findLast((r) => r.includes("RECORD_SAMPLE")) ?? "")
    ?.[1] as string;
  await chosen((r) => new RegExp(`\\): ${pid}/`).test(r), "--type", "SAMPLE", "--pid", pid);
  await chosen((r) => new RegExp(`\\): \\d+/${pid}:`).test(r), "--type", "SAMPLE", "--tid", pid);
  const timeOf = (r: string): number =>
    Number(/(\d+) 0x[0-9a-f]+ \[[^\n]*RECORD/.exec(r)?.[1] ?? -1);
  const samples = all.filter((r) => r.includes("RECORD_SAMPLE"));
  const time = timeOf(samples[samples.length >> 1] ?? "");
  const seconds = (time / 1e9).toFixed(9);
  await chosen((r) => timeOf(r) >= time, "--time", `${seconds},`);
  await chosen((r) => timeOf(r) > 0 && timeOf(r) <= time, "--time", `,${seconds}`);
  const times = samples.map(timeOf);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const half = first + Math.floor((last - first) / 2);
  await chosen((r) => timeOf(r) >= first && timeOf(r) <= half, "--time", "0%-50%");
  await chosen((r) => timeOf(r) >= first + 1_000_000, "--time", "1ms-");
});

Deno.test("dump: --limit, --from, --order and --no-hex print parts of the whole dump", async () => {
  const whole = (await dump(fixture)).out;
  const all = records(whole);
  const limited = await dump("--limit", "5", fixture);
  assertEquals([limited.code, records(limited.out)], [0, all.slice(0, 5)]);
  const inFile = records((await dump("--order", "file", fixture)).out);
  const offset = (record: string): number => Number(record.slice(0, record.indexOf("@")));
  const offsets = inFile.map(offset);
  assertEquals(offsets, all.map(offset).sort((a, b) => a - b));
  const from = offsets[offsets.length - 4] as number;
  const tail = records((await dump("--from", `0x${from.toString(16)}`, fixture)).out);
  assertEquals(tail.map(offset).sort((a, b) => a - b), offsets.slice(-4));
  const bare = (await dump("--no-hex", fixture)).out;
  assertEquals(bare, whole.replace(/^\.\n\. \.\.\. raw event.*\n(\. {2}.*\n)*\n/gm, ""));
});

Deno.test("dump: a pipe on standard input gives the dump of its file", async () => {
  const pipe = `${root}fixtures/recorded/pipe.perf.data`;
  using input = Deno.openSync(pipe);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--allow-read", `${root}tools/dump.ts`, "-"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writing = input.readable.pipeTo(child.stdin);
  const { code, stdout } = await child.output();
  await writing;
  assertEquals([code, decoder.decode(stdout)], [0, (await dump(pipe)).out]);
});

Deno.test("dump: a closed pipe ends it without a message, exit code 0", async () => {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: [
      "-c",
      '{ "$0" run --quiet --no-prompt --allow-read tools/dump.ts "$1"; echo "$?" >&2; } | head -n 3',
      Deno.execPath(),
      fixture,
    ],
    cwd: root,
  }).output();
  const lines = decoder.decode(stdout).split("\n");
  assertEquals([code, decoder.decode(stderr), lines.length], [0, "0\n", 4]);
});

Deno.test("dump --jobs: a closed pipe ends all threads without a message", async () => {
  const file = Deno.makeTempFileSync();
  try {
    const attr = {
      ...emptyAttr(),
      sample_type: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME),
      flags: { ...emptyAttr().flags, sample_id_all: true },
    };
    {
      using sink = fileSink(file);
      const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
      for (let time = 1; time <= 40_000; time++) {
        const words = Uint32Array.of(9, 32 << 16, 0x1000, 0, 7, 7, time, 0);
        await writer.write(new Uint8Array(words.buffer));
      }
      await writer.close();
    }
    for (const jobs of ["2", "2", "2", "2", "3"]) {
      const { stdout, stderr } = await new Deno.Command("sh", {
        args: [
          "-c",
          '{ "$0" run --quiet --no-prompt --allow-read tools/dump.ts --jobs "$2" "$1"; echo "$?" >&2; } | head -n 1',
          Deno.execPath(),
          file,
          jobs,
        ],
        cwd: root,
      }).output();
      assertEquals([decoder.decode(stderr), decoder.decode(stdout).split("\n").length], ["0\n", 2]);
    }
  } finally {
    Deno.removeSync(file);
  }
});

Deno.test("dump --jobs: any number gives the same text, also of damaged files", async () => {
  const damaged = Deno.makeTempFileSync();
  try {
    const bytes = Deno.readFileSync(`${root}fixtures/recorded/all-cpus.perf.data`);
    bytes.fill(0, bytes.length >> 1, (bytes.length >> 1) + 64);
    Deno.writeFileSync(damaged, bytes);
    for (const file of [fixture, damaged]) {
      const one = await dump("--jobs", "1", file);
      for (const jobs of ["2", "3"]) {
        assertEquals(await dump("--jobs", jobs, file), one, `${jobs} threads, ${file}`);
      }
    }
  } finally {
    Deno.removeSync(damaged);
  }
});

Deno.test("dump: errors give one line, wrong usage exit code 2", async () => {
  for (
    const [args, code, message] of [
      [["/does/not/exist"], 1, /^dump: .*no such file or directory\n$/],
      [[`${root}README.md`], 1, /^dump: .*README\.md: .*\n$/],
      [["a", "b"], 2, /^dump: 2 files are given, expected one; see dump --help\n$/],
      [["--type", "NOPE", fixture], 2, /^dump: --type: unknown record type NOPE;.*\n$/],
      [["--time", "soon", fixture], 2, /^dump: --time is soon, expected 12\.5,13 \(seconds.*\n$/],
      [["--order", "size", fixture], 2, /^dump: --order is size.*\n$/],
      [["--from", "x", fixture], 2, /^dump: --from is x.*\n$/],
      [["--jobs", "0", fixture], 2, /^dump: --jobs is 0, expected 1 to 64.*\n$/],
      [["--nope", fixture], 2, /^dump: unknown flag --nope.*\n$/],
    ] as const
  ) {
    const got = await dump(...args);
    assertEquals([got.code, got.out], [code, ""], args.join(" "));
    assertMatch(got.err, message);
  }
  const help = await dump("--help");
  assertEquals([help.code, help.err], [0, ""]);
  assertMatch(help.out, /^dump: prints each record/);
});

Deno.test("dump: AUX data is selected by CPU and thread, and found by an offset within it", async () => {
  const traced = `${root}fixtures/synthesized/pt-cpus.perf.data`;
  const all = records((await dump("--type", "AUXTRACE", traced)).out);
  assert(all.length > 4, "the fixture has AUX data of several CPUs");
  const one = await dump("--type", "AUXTRACE", "--cpu", "1", traced);
  const expected = all.filter((record) => /cpu: 1\n/.test(record));
  assert(expected.length > 0 && expected.length < all.length);
  assertEquals([one.code, one.err, records(one.out)], [0, "", expected]);
  assertEquals(records((await dump("--type", "AUXTRACE", "--tid", "1000", traced)).out), all);
  const untimed = await dump("--type", "AUXTRACE", "--time", "0,1", traced);
  assertEquals(records(untimed.out), []);
  assertMatch(
    untimed.err,
    new RegExp(`: ${all.length} AUXTRACE records are left out: .*\n.*: no records: .*\n$`),
  );
  // Any byte of a record or its data selects the record.
  const place = parseInt(/^0x([0-9a-f]+)@/.exec(expected[0] ?? "")?.[1] ?? "", 16);
  const whole = await dump("--type", "AUXTRACE", "--limit", "1", "--from", `${place}`, traced);
  assertEquals([whole.err, records(whole.out)], ["", [expected[0]]]);
  for (const inside of [place + 1, place + 47, place + 48, place + 100]) {
    const { out, err } = await dump(
      "--type",
      "AUXTRACE",
      "--limit",
      "1",
      "--from",
      `${inside}`,
      traced,
    );
    assertEquals(records(out), [expected[0]], `${inside}`);
    assertMatch(
      err,
      new RegExp(`0x${inside.toString(16)} is inside of the record at 0x${place.toString(16)}`),
    );
  }
  // The record has 48 bytes; its data follows.
  const moved = await dump(
    "--type",
    "AUXTRACE",
    "--limit",
    "1",
    "--from",
    `${place}`,
    "--file-offsets",
    traced,
  );
  const offsets = (text: string) =>
    [...text.matchAll(/^\. {2}([0-9a-f]{8}): /gm)].map(([, offset]) => parseInt(offset ?? "", 16));
  assert(offsets(whole.out).length > 10);
  assertEquals(offsets(moved.out), offsets(whole.out).map((offset) => offset + place + 48));
});
