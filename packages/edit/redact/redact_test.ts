import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { assert, assertEquals } from "@std/assert";
import { copyRecording } from "../copy/copy.ts";
import { FileOutput } from "../copy/recording_output.ts";
import { Pseudonyms } from "./pseudonym.ts";
import { Redact, type RedactOptions } from "./redact.ts";
import { TextSearch } from "./search_text.ts";

const fixtures = new URL("../../../fixtures/recorded/", import.meta.url);

async function redacted(name: string, options: RedactOptions) {
  const bytes = Deno.readFileSync(new URL(`${name}.perf.data`, fixtures));
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const sink = memorySink();
  const edit = new Redact(reader, options);
  await copyRecording(reader, new FileOutput(sink), { edit });
  return { before: bytes, after: sink.bytes(), stats: edit.stats };
}

function text(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

Deno.test("redact: no text of the machine is left at any place", async () => {
  let searched = 0;
  for (const name of ["all-cpus", "dwarf", "regs", "namespaces", "switch", "stat"]) {
    const { before, after, stats } = await redacted(name, { names: new Pseudonyms("key") });
    assertEquals(stats.undecoded, 0);
    // Search the raw bytes, since decoding might change the texts.
    for (const word of ["fixture-host", "/usr/", "libc.so", "worker", "perf record", "demo"]) {
      if (!text(before).includes(word)) continue;
      assert(!text(after).includes(word), `${name}: ${word}`);
      searched++;
    }
    const kernel = "[kernel.kallsyms]";
    assertEquals(text(after).includes(kernel), text(before).includes(kernel), name);
  }
  console.log(`${searched} texts searched`);
  assert(searched >= 15);
});

Deno.test("redact: formats of tracepoints are kept, kernel symbols and process names are removed", async () => {
  const { before, after } = await redacted("tracepoint", { names: new Pseudonyms("key") });
  for (const word of ["name: sched_switch", "print fmt:"]) {
    assert(text(before).includes(word) && text(after).includes(word), word);
  }
  // A line of /proc/kallsyms, and one of saved_cmdlines.
  for (const line of [/[0-9a-f]{16} [tTdD] \w+\n/, /\n\d+ \w+\n/]) {
    assertEquals(line.test(text(after)), false, `${line}`);
  }
});

Deno.test("redact: stacks and registers become zeros, sizes are kept", async () => {
  const { before, after } = await redacted("dwarf", { what: new Set(["stacks", "regs"] as const) });
  const sizes = async (bytes: Uint8Array) => {
    const found: number[] = [];
    let nonzero = 0;
    for await (const batch of (await PerfDataReader.open(bytesSource(bytes))).batches()) {
      for (let i = 0; i < batch.count; i++) {
        found.push(batch.size(i));
        if (batch.type(i) !== PERF_RECORD_SAMPLE) continue;
        nonzero += batch.recordBytes(i).filter((byte) => byte !== 0).length;
      }
    }
    return { found, nonzero };
  };
  const [one, two] = [await sizes(before), await sizes(after)];
  assertEquals(two.found, one.found);
  assert(two.nonzero < one.nonzero / 3, `${two.nonzero} of ${one.nonzero} bytes are not zero`);
});

Deno.test("redact: one key gives the same tokens in two recordings, texts that match a pattern stay, removed texts are empty", async () => {
  const a = text((await redacted("all-cpus", { names: new Pseudonyms("one key") })).after);
  const b = text((await redacted("two-events", { names: new Pseudonyms("one key") })).after);
  const token = new Pseudonyms("one key").token("demo");
  assert(a.includes(token) && b.includes(token));
  const kept = await redacted("all-cpus", { names: new Pseudonyms("k"), keep: [/libc\.so/] });
  assert(text(kept.after).includes("libc.so"));
  assert(!text(kept.after).includes("worker"));
  const removed = await redacted("all-cpus", {});
  assert(!text(removed.after).includes("worker") && !text(removed.after).includes("libc.so"));
});

Deno.test("TextSearch: kept texts are counted only outside of their places", () => {
  const bytes = new TextEncoder().encode("cpu-clock, cpu-clock:u; -e cpu-clock sched");
  const found = (kept: string[]) => {
    const search = new TextSearch(["cpu-clock", "sched", "none"], [], kept);
    search.take(bytes);
    return [...search.found];
  };
  assertEquals(found([]), [["cpu-clock", 3], ["sched", 1]]);
  assertEquals(found(["cpu-clock", "cpu-clock:u"]), [["cpu-clock", 1], ["sched", 1]]);
  assertEquals(found(["cpu-clock", "cpu-clock", "cpu-clock:u"]), [["sched", 1]]);
});

Deno.test("TextSearch: pieces of any size give the result of a plain search", () => {
  const words = ["alpha", "alphabet", "beta", "äöü", "gamma delta"];
  const whole = new TextEncoder().encode("xalphabetagamma deltaäöü alphaalphabet beta");
  const plain = new TextDecoder().decode(whole);
  const expected = words.map((word) => plain.split(word).length - 1);
  for (let cut = 1; cut < whole.length; cut++) {
    const search = new TextSearch(words);
    for (let at = 0; at < whole.length; at += cut) search.take(whole.subarray(at, at + cut));
    assertEquals(words.map((word) => search.found.get(word) ?? 0), expected, `pieces of ${cut}`);
  }
});

Deno.test("TextSearch: a text inside the token of another text is not counted", () => {
  const names = new Pseudonyms("key");
  const token = names.token("/usr/bin/secret");
  const inside = token.slice(3, 8);
  const other = names.token(inside);
  const bytes = (text: string) => new TextEncoder().encode(text);
  for (const cut of [1, 5, 100]) {
    const search = new TextSearch(["/usr/bin/secret", inside], names.tokens);
    const whole = bytes(`${token} ${token}\0${other}`);
    for (let at = 0; at < whole.length; at += cut) search.take(whole.subarray(at, at + cut));
    assertEquals([...search.found], []);
    search.take(bytes(` ${inside} ${token}`));
    assertEquals([...search.found], [[inside, 1]]);
  }
});
