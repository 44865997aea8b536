/** Unwound stacks of waiting threads, compared with elfutils' `eu-stack`. */
import { assert, assertEquals } from "@std/assert";
import { perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";
import { runs } from "../support/unwound.ts";
import { skipped } from "../support/ignored.ts";

const SOURCE = new URL("../support/unwound/stay.cc", import.meta.url).pathname;
const USER = "0xfffffffffffffe00";

/** Addresses of the frames by thread, with their names, as `eu-stack` prints them. */
function euStacks(text: string): Map<number, { address: bigint; name: string }[]> {
  const threads = new Map<number, { address: bigint; name: string }[]>();
  let frames: { address: bigint; name: string }[] = [];
  for (const line of text.split("\n")) {
    const [, tid] = /^TID (\d+):/.exec(line) ?? [];
    if (tid !== undefined) threads.set(Number(tid), frames = []);
    const [, address, name = ""] = /^#\d+\s+(0x[0-9a-f]+)\s*(.*)$/.exec(line) ?? [];
    if (address !== undefined) frames.push({ address: BigInt(address), name });
  }
  return threads;
}

/** Waits until each of the four threads has run long enough to reach its loop. */
async function untilTheyStay(pid: number): Promise<void> {
  for (let turn = 0; turn < 600; turn++) {
    const ticks = Array.from(Deno.readDirSync(`/proc/${pid}/task`), ({ name }) => {
      const stat = Deno.readTextFileSync(`/proc/${pid}/task/${name}/stat`);
      // In hundredths of a second: utime is the 14th field, the 12th after the name.
      return Number(stat.slice(stat.lastIndexOf(")")).split(" ")[12]);
    });
    if (ticks.length === 4 && Math.min(...ticks) >= 5) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the program does not run");
}

Deno.test({
  name:
    "stacks of recursion, an exception in flight, a signal and a callback equal those of eu-stack",
  ignore: perfVersion() === undefined,
  fn: (t) =>
    inFolder(async (folder) => {
      const program = `${folder}/stay`, data = `${folder}/perf.data`;
      const missing = runs("eu-stack", "--version") ??
        runs("g++", "-O2", "-pthread", "-o", program, SOURCE);
      if (missing !== undefined) {
        await skipped(t, `${missing}`);
        return;
      }
      const child = new Deno.Command(program, { stdout: "piped" }).spawn();
      let expected: ReturnType<typeof euStacks>;
      try {
        const reader = child.stdout.getReader();
        await reader.read();
        await reader.cancel();
        await untilTheyStay(child.pid);
        const failed = runs(
          ...["perf", "--buildid-dir", `${folder}/debug`, "record", "-q", "-e", "cpu-clock:u"],
          ...["-F", "499", "--call-graph", "dwarf", "-p", String(child.pid), "-o", data],
          ...["--", "sleep", "1"],
        );
        const { stdout, success } = new Deno.Command("eu-stack", {
          args: ["-p", String(child.pid)],
          stderr: "null",
        }).outputSync();
        if (failed !== undefined || !success) {
          await skipped(t, `${failed ?? "eu-stack may not look at another process here"}`);
          return;
        }
        expected = euStacks(new TextDecoder().decode(stdout));
      } finally {
        child.kill("SIGKILL");
        await child.status;
      }
      const { out } = await tool("records", ["--unwind", "--type", "SAMPLE", data]);
      let compared = 0;
      const threads = new Set<number>();
      for (const line of out.trim().split("\n")) {
        const { tid, callchain } = JSON.parse(line) as { tid: number; callchain: string[] };
        const [own, ...callers] = callchain.slice(callchain.indexOf(USER) + 1);
        const [, ...theirs] = expected.get(tid) ?? [];
        assert(own !== undefined && theirs.length > 2, `${tid}: ${theirs.length} frames`);
        // Callers are the byte before the return address, within the call; an interrupted address
        // is exact.
        const addresses = theirs.map(({ address }, i) =>
          `0x${(theirs[i - 1]?.name === "__restore_rt" ? address : address - 1n).toString(16)}`
        );
        assertEquals(callers, addresses, `thread ${tid}`);
        threads.add(tid);
        compared++;
      }
      console.log(`${compared} stacks of ${threads.size} threads are those of eu-stack`);
      assert(compared >= 20 && threads.size === 4, `${compared} stacks, ${threads.size} threads`);
    }),
});
