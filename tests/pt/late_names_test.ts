/**
 * Samples of threads before the record that names them: in a file, and in a pipe, where the name is
 * not known yet.
 */
import { assert, assertEquals } from "@std/assert";
import { ptAttr } from "../../fixtures/synthesize/pt_parts.ts";
import { asFile, asPipe, type Item, type Recording } from "../../fixtures/synthesize/recording.ts";
import { tool } from "../support/tool.ts";

const SCENES = 400;

/** A generator of numbers below `n`, the same in each run. */
function dice(seed: number): (n: number) => number {
  return (n) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor(seed / 2 ** 32 * n);
  };
}

/**
 * Recordings of a few threads each: samples, names and forks. Many forks name a parent of another
 * process than before, like records in lost order.
 */
function scenes(): Recording {
  const roll = dice(7);
  const items: Item[] = [];
  let time = 1000n;
  for (let scene = 0; scene < SCENES; scene++) {
    const id = () => 10_000 + 10 * scene + roll(4);
    for (let n = 0; n < 12; n++) {
      const [pid, tid, ppid, ptid] = [id(), id(), id(), id()];
      const sample_id = { pid, tid, time: ++time, cpu: 0, identifier: 1n };
      const kind = roll(8);
      if (kind < 5) {
        const body = { ...sample_id, ip: 0x1000n };
        items.push({ record: { type: 9, name: "SAMPLE", misc: 2, body } });
      } else if (kind === 5) {
        const body = { pid, tid, comm: `s${scene}n${n}` };
        items.push({ record: { type: 3, name: "COMM", misc: 0, body, sample_id } });
      } else if (tid !== ptid) {
        const body = { pid, ppid, tid, ptid, time };
        items.push({ record: { type: 7, name: "FORK", misc: 0, body, sample_id } });
      }
    }
  }
  const events = [{ attr: ptAttr({ type: 1, config: 0n, sample_period: 1n }), ids: [1n] }];
  return { events, items, features: [] };
}

/**
 * Samples by the first name of their thread. An independent model: threads as objects, one record
 * after another.
 */
function expected({ items }: Recording): Map<string, number> {
  interface Thread {
    readonly pid: number;
    readonly tid: number;
    name?: string;
    samples: number;
  }
  const all: Thread[] = [];
  const named = new Map<string, number>();
  const threads = new Map<number, Thread>();
  const threadOf = (pid: number, tid: number): Thread => {
    let thread = threads.get(tid);
    if (thread === undefined) {
      thread = { pid, tid, samples: 0 };
      all.push(thread);
      threads.set(tid, thread);
      // A process has a main thread, even if no record describes it.
      threadOf(pid, pid);
    }
    return thread;
  };
  const count = (name: string, samples: number) =>
    samples > 0 && named.set(name, (named.get(name) ?? 0) + samples);
  for (const { record } of items) {
    if (record.name === "SAMPLE") {
      const { pid = -1, tid = -1 } = record.body;
      threadOf(pid, tid).samples++;
    } else if (record.name === "COMM") {
      const thread = threadOf(record.body.pid, record.body.tid);
      // Samples after a second name count under that name.
      if (thread.name !== undefined) {
        count(thread.name, thread.samples);
        thread.samples = 0;
      }
      thread.name = record.body.comm;
    } else if (record.name === "FORK") {
      const { pid, ppid, tid, ptid } = record.body;
      if (threadOf(ppid, ptid).pid !== ppid) threads.delete(ptid);
      const parent = threadOf(ppid, ptid);
      threads.delete(tid);
      const child = threadOf(pid, tid);
      if (parent.name !== undefined) child.name = parent.name;
    }
  }
  for (const { name, tid, samples } of all) count(name ?? `:${tid}`, samples);
  return new Map([...named].sort());
}

/** Samples by name as the tool prints them. */
async function counted(name: string, input?: Uint8Array): Promise<Map<string, number>> {
  const args = ["--sort", "comm", "--json", "--limit", "100000", name];
  const { out } = await tool("funcs", args, input === undefined ? {} : { input });
  const rows: { comm: string; samples: number }[] = out.trimEnd().split("\n")
    .map((line) => JSON.parse(line));
  return new Map(rows.map(({ comm, samples }) => [comm, samples] as const).sort() as []);
}

Deno.test("pt: samples before a thread's first name count under that name, in a file and in a pipe", async () => {
  const path = Deno.makeTempFileSync({ prefix: "perfdata-names-" });
  try {
    const recording = scenes();
    const names = expected(recording);
    const total = [...names.values()].reduce((sum, n) => sum + n, 0);
    const without = [...names.keys()].filter((name) => name.startsWith(":")).length;
    const what = `${total} samples of ${names.size} names, ${without} of threads without one`;
    console.log(what);
    assert(total > 7 * SCENES && without > SCENES && names.size - without > SCENES / 2, what);
    Deno.writeFileSync(path, await asFile(recording, true));
    assertEquals(await counted(path), names);
    assertEquals(await counted("-", await asPipe(recording, true)), names);
  } finally {
    Deno.removeSync(path);
  }
});
