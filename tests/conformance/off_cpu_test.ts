/**
 * Off-CPU samples written by a BPF program (perf 6.16) give the same results in every tool as the
 * ordinary samples of earlier perfs. fixtures/synthesize/off_cpu.ts lays out both; its list has the
 * meaning of each sample.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SampleCollector } from "@perfdata/profile";
import { type ByteSource, bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { dump, writeRecords } from "@perfdata/dump";
import { analyzeRate, Overview } from "@perfdata/report/figures";
import { functionTable } from "@perfdata/report";
import { EventNames, RecordingIndex, runEngine } from "@perfdata/session";
import { openResolver } from "@perfdata/symbols/files";
import { offCpu, type Wait, WAITING, waits } from "../../fixtures/synthesize/off_cpu.ts";
import { asFile, asPipe } from "../../fixtures/synthesize/recording.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const FORMS = ["raw", "plain"] as const;
const THREADS = WAITING.flat();

const open = (source: ByteSource) => PerfDataReader.open(source, { diagnostics: () => {} });

/** All lines of `records`, parsed; 64-bit numbers are strings. */
async function recordLines(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  const decoder = new TextDecoder();
  let text = "";
  const write = (block: Uint8Array) => void (text += decoder.decode(block, { stream: true }));
  await writeRecords(await open(bytesSource(bytes)), write, { u64: "string" });
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

for (const littleEndian of [true, false]) {
  const end = littleEndian ? "little" : "big";

  Deno.test(`off-CPU samples, ${end}-endian: records has the values that were laid out`, async () => {
    const list = waits();
    for (const form of FORMS) {
      for (const write of [asFile, asPipe]) {
        const bytes = await write(offCpu(form, littleEndian, list), littleEndian);
        const samples = (await recordLines(bytes)).filter(({ type }) => type === "SAMPLE");
        assertEquals(samples.length, list.length);
        assert(list.length >= 200);
        samples.forEach((sample, i) => {
          const { pid, tid, period, chain, time } = list[i] as Wait;
          const hex = (value: bigint) => `0x${value.toString(16)}`;
          const { ip, callchain } = sample;
          assertEquals(
            { ...sample, ip, callchain },
            {
              ...sample,
              ...{ event: "offcpu-time", cpumode: "USER", ip: hex(chain[0] as bigint) },
              ...{ pid, tid, time: String(time), period: String(period) },
              callchain: ["0xfffffffffffffe00", ...chain.map(hex)],
            },
          );
          assertEquals("raw" in sample, form === "raw");
        });
      }
    }
  });

  Deno.test(`off-CPU samples, ${end}-endian: tables are equal, in order and in blocks`, async () => {
    const answers = await Promise.all(FORMS.map(async (form) => {
      const bytes = await asFile(offCpu(form, littleEndian), littleEndian);
      const counts = new SampleCollector({ keys: { tid: true } });
      const engine = await runEngine(await open(bytesSource(bytes)), [counts], {
        blockBytes: 4096,
      });
      const stacks = new SampleCollector({ stacks: true });
      const ordered = await runEngine(await open(bytesSource(bytes)), [stacks, new Overview()], {});
      const resolver = openResolver({ parameters: false, machine: engine.recorded });
      const table = await functionTable(counts, resolver, {
        sort: ["comm", "tid", "dso", "sym"],
      });
      const callers = await functionTable(stacks, resolver);
      assertEquals([engine.leftOut, ordered.leftOut], [0, 0]);
      const all = (found: typeof table) =>
        Array.from(found.rows, (row) => JSON.stringify(found.row(row)));
      return { totals: counts.totals, rows: all(table), callers: all(callers) };
    }));
    assertEquals(answers[0], answers[1]);
    const rows = answers[0]?.rows ?? [];
    assert(rows.length >= THREADS.length, `${rows.length} rows`);
    for (const tid of THREADS) assert(rows.some((row) => row.includes(`${tid}`)), `${tid}`);
  });

  Deno.test(`off-CPU samples, ${end}-endian: rate, processes and the index are equal`, async () => {
    const answers = await Promise.all(FORMS.map(async (form) => {
      const bytes = await asFile(offCpu(form, littleEndian), littleEndian);
      const points: string[] = [];
      await analyzeRate(await open(bytesSource(bytes)), {
        point: (point) => points.push(Object.values(point).join(" ")),
      });
      const rows: string[] = [];
      const overview = new Overview(({ pid, tid, info }) => rows.push(`${pid} ${tid} ${info}`));
      await runEngine(await open(bytesSource(bytes)), [overview]);
      const reader = await open(bytesSource(bytes));
      await new EventNames(reader).all();
      const { seen } = await RecordingIndex.read(reader);
      const threads = Array.from({ length: seen.count }, (_, k) => `${seen.pid[k]}/${seen.tid[k]}`);
      assertEquals(
        threads.sort(),
        WAITING.flatMap((tids) => tids.map((tid) => `${tids[0]}/${tid}`)),
      );
      const processes = overview.processes.map((process) => Object.values(process).join(" "));
      return { points, rows, processes };
    }));
    assertEquals(answers[0], answers[1]);
    assert((answers[0]?.rows.length ?? 0) >= 200);
  });

  Deno.test(`off-CPU samples, ${end}-endian: dump shows the real sample and the raw bytes`, async () => {
    const [raw, plain] = await Promise.all(FORMS.map(async (form) => {
      const bytes = await asFile(offCpu(form, littleEndian), littleEndian);
      let text = "";
      const write = (block: Uint8Array) => void (text += new TextDecoder("latin1").decode(block));
      await dump(await open(bytesSource(bytes)), { path: "data", write });
      return text.split("\n");
    }));
    const meant = (lines: readonly string[] = []) =>
      lines.filter((line) => /PERF_RECORD_SAMPLE|FP chain|^\.{5} /.test(line)).map((line) =>
        line.replace(/^.*PERF_RECORD_SAMPLE\(IP, 0x\d\)/, "")
      );
    assertEquals(meant(raw), meant(plain));
    assert(meant(raw).length > 600, `${meant(raw).length} lines`);
    // The period of the first wait is 2^53 + 1, which only raw data can represent.
    const hex = littleEndian ? "01 00 00 00 00 00 20 00" : "00 20 00 00 00 00 00 01";
    const digits = (raw ?? []).filter((line) => /^\. {2}[0-9a-f]{4}:/.test(line))
      .map((line) => line.slice(9, 57)).join("").replaceAll(/ +/g, " ");
    assertStringIncludes(digits, hex);
  });
}

Deno.test("off-CPU samples: --weight off-cpu counts the sums of both forms", async () => {
  const wanted = new Map<number, number>();
  // Sums of numbers that are doubles; for others a line reports the rounding.
  const list = waits().map((wait) => ({ ...wait, period: wait.period % 1_000_000_007n }));
  for (const { tid, period } of list) wanted.set(tid, (wanted.get(tid) ?? 0) + Number(period));
  await inFolder(async (folder) => {
    for (const form of FORMS) {
      for (const [kind, bytes] of [["file", asFile], ["pipe", asPipe]] as const) {
        const path = `${folder}/${form}-${kind}`;
        const recording = offCpu(form, true, list);
        // Records of switches were requested or not; there are none.
        for (const { attr } of recording.events) {
          Object.assign(attr, { flags: { ...attr.flags, context_switch: kind === "file" } });
        }
        await Deno.writeFile(path, await bytes(recording, true));
        const args = ["--weight", "off-cpu", "--sort", "tid", "--json", path];
        const { code, out, err } = await tool("funcs", args);
        assertEquals(code, 0, err);
        const rows = out.trim().split("\n").map((line) => JSON.parse(line));
        const found = rows.map(({ tid, period }) => [tid, period] as const);
        assertEquals(new Map(found.sort(([a], [b]) => a - b)), new Map([...wanted].sort()), path);
      }
    }
  });
  assertEquals(wanted.size >= 2, true);
});

Deno.test("off-CPU samples: the tools print the same for both forms, from a file and from a pipe", async () => {
  await inFolder(async (folder) => {
    let compared = 0;
    for (const form of FORMS) {
      await Deno.writeFile(`${folder}/${form}`, await asFile(offCpu(form, true), true));
      await Deno.writeFile(`${folder}/${form}-pipe`, await asPipe(offCpu(form, true), true));
    }
    const commands: [string, string[]][] = [
      ["script", []],
      ["funcs", ["--sort", "tid,sym"]],
      ["tree", []],
      ["export", ["folded"]],
      ["export", ["speedscope", "-o", "-"]],
      ["rate", []],
    ];
    for (const [name, args] of commands) {
      for (const kind of ["", "-pipe", "-stream"]) {
        const texts = await Promise.all(FORMS.map(async (form) => {
          const path = `${folder}/${form}${kind}`;
          const input = await Deno.readFile(`${folder}/${form}`);
          const { code, out, err } = kind === "-stream"
            ? await tool(name, [...args, "-"], { input })
            : await tool(name, [...args, path]);
          assertEquals(code, 0, `${name}: ${err}`);
          // For the ordinary form perf prints an empty line instead of raw data.
          return out.replaceAll(path, "data").replaceAll(`${form}${kind}`, "data")
            .replaceAll(/\n[ \n]*\n/g, "\n");
        }));
        assertEquals(texts[0], texts[1], `${name} ${args.join(" ")} ${kind}`);
        assert((texts[0] ?? "").length > 100, name);
        compared++;
      }
    }
    assertEquals(compared, 18);
    const sliced = await Promise.all(FORMS.map(async (form) => {
      const out = `${folder}/${form}-slice`;
      const { code, err } = await tool("slice", [`${folder}/${form}`, "--tid", "1002", "-o", out]);
      assertEquals(code, 0, err);
      const lines = await recordLines(await Deno.readFile(out));
      return lines.filter(({ type }) => type === "SAMPLE").map(({ tid, time }) => `${tid} ${time}`);
    }));
    assertEquals(sliced[0], sliced[1]);
    assertEquals(sliced[0]?.length, waits().filter(({ tid }) => tid === 1002).length);
  });
});

Deno.test({
  name: "off-CPU samples: script prints perf's text for the ordinary form",
  ignore: perfVersion() === undefined,
  async fn() {
    await inFolder(async (folder) => {
      for (const form of FORMS) {
        await Deno.writeFile(`${folder}/${form}`, await asFile(offCpu(form, true), true));
      }
      const args = ["-F", "comm,pid,tid,time,period,event,ip", "--ns"];
      const perf = await perfText(["script", ...args], `${folder}/plain`);
      const ours = await tool("script", [`${folder}/raw`, ...args]);
      assertEquals(ours.code, 0, ours.err);
      const lines = (text: string) => text.trim().split("\n").map((line) => line.trim());
      const expected = lines(perf?.stdout ?? "");
      assert(expected.length > 600, `${expected.length} lines of perf`);
      assertEquals(lines(ours.out), expected);
    });
  },
});

Deno.test("off-CPU samples: other BPF output, and truncated raw data, are not off-CPU samples", async () => {
  const recording = offCpu("raw", true);
  const unnamed = {
    ...recording,
    features: recording.features.map((feature) =>
      feature.name !== "EVENT_DESC" ? feature : {
        ...feature,
        value: {
          ...feature.value,
          events: feature.value.events.map((event) => ({ ...event, name: "my-output" })),
        },
      }
    ),
  };
  const other = (await recordLines(await asFile(unnamed, true))).filter(({ type }) =>
    type === "SAMPLE"
  );
  assertEquals(new Set(other.map(({ tid }) => tid)), new Set([0]));
  // Without an event name, raw data decides for each sample: half of these are truncated, and stay
  // unchanged.
  const items = recording.items.map((item, i) => {
    const { record } = item;
    if (record.name !== "SAMPLE" || i % 2 === 0) return item;
    const raw = (record.body as { raw: Uint8Array }).raw.subarray(0, 20);
    return { ...item, record: { ...record, body: { ...record.body, raw } } };
  }) as typeof recording.items;
  const nameless = await asFile({ ...recording, items, features: [] }, true);
  const mixed = (await recordLines(nameless)).filter(({ type }) => type === "SAMPLE");
  const list = waits();
  mixed.forEach(({ tid, period, raw }, i) => {
    const wait = list[i] as Wait;
    const isCut = String(raw).length === 40;
    assertEquals([tid, period], isCut ? [0, "1"] : [wait.tid, String(wait.period)]);
  });
  const ids = new SampleCollector({ keys: { tid: true } });
  const { leftOut } = await runEngine(await open(bytesSource(nameless)), [ids]);
  assertEquals([mixed.length, leftOut], [list.length, 0]);
  let cut = 0;
  for (let length = 0; length < 40; length += 4) {
    const items = recording.items.map((item) => {
      const { record } = item;
      if (record.name !== "SAMPLE") return item;
      const raw = (record.body as { raw: Uint8Array }).raw.subarray(0, length);
      return { ...item, record: { ...record, body: { ...record.body, raw } } };
    }) as typeof recording.items;
    const counts = new SampleCollector({ keys: { tid: true } });
    const bytes = await asFile({ ...recording, items }, true);
    const engine = await runEngine(await open(bytesSource(bytes)), [counts]);
    assertEquals(engine.leftOut, waits().length);
    cut++;
  }
  assertEquals(cut, 10);
});
