import { assertEquals } from "@std/assert";
import { KERNEL_RECORDS, RecordCodec } from "@perfdata/format/records";
import { Machine, Run } from "@perfdata/session";
import { ThreadText } from "./thread_text.ts";

const codec = new RecordCodec(KERNEL_RECORDS);
const bytes = new Uint8Array(512);
const out = new DataView(bytes.buffer);

function named(machine: Machine, tid: number, comm: string): void {
  const record = codec.encode({
    type: 3,
    name: "COMM",
    misc: 0,
    body: { pid: tid, tid, comm },
  });
  machine.apply(record, new DataView(record.buffer), 0, record.length);
}

/** Both texts of a thread. */
function written(
  machine: Machine,
  threads: ThreadText,
  thread: number,
  pid: number,
): string[] {
  const run = new Run();
  run.pid[0] = pid;
  run.thread[0] = thread;
  run.comm[0] = machine.comms[thread] as number;
  const slot = threads.slotOf(run, 0);
  const text = (end: number): string => new TextDecoder("latin1").decode(bytes.subarray(3, end));
  const ids = text(threads.putIds(out, 3, slot));
  const line = text(threads.putLine(out, 3, slot));
  return [ids, line];
}

Deno.test("ThreadText: the text has the current comm, of any length and bytes", () => {
  const machine = new Machine();
  const threads = new ThreadText(machine);
  const thread = machine.thread(70, 71);
  const line = (comm: string): string[] => [
    "70/71: ",
    ` ... thread: ${comm}:71\n ...... dso: `,
  ];
  assertEquals(written(machine, threads, thread, 70), line(":71"));
  for (const comm of ["make", "make", "a".repeat(48), "a".repeat(49), "x".repeat(200), "", "b"]) {
    named(machine, 71, comm);
    assertEquals(written(machine, threads, thread, 70), line(comm));
  }
  // Eight bytes that are a NaN, which JavaScript may change when it is read as a number.
  named(machine, 71, "");
  const odd = Uint8Array.of(3, 0, 0, 0, 0, 0, 32, 0, 71, 0, 0, 0, 71, 0, 0, 0, ...NAN, ...NAN);
  machine.apply(odd, new DataView(odd.buffer), 0, odd.length);
  const comm = String.fromCharCode(...NAN, ...NAN);
  assertEquals(written(machine, threads, thread, 70), line(comm));
});

const NAN = [1, 2, 3, 4, 5, 6, 0xf7, 0x7f];

Deno.test("ThreadText: threads with the same slot, and other processes, get their own text", () => {
  const machine = new Machine();
  const threads = new ThreadText(machine);
  for (let tid = 1; tid < 3000; tid++) named(machine, tid, `t${tid}`);
  for (const tid of [5, 5 + 1024, 5 + 2048, 5, -1]) {
    const thread = machine.thread(tid, tid);
    const comm = tid < 0 ? ":-1" : `t${tid}`;
    for (const pid of [tid, 9, -1]) {
      assertEquals(written(machine, threads, thread, pid), [
        `${pid}/${tid}: `,
        ` ... thread: ${comm}:${tid}\n ...... dso: `,
      ]);
    }
  }
});
