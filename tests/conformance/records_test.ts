/** The command `records`, and its samples compared with `perf script`. */
import { assert, assertEquals } from "@std/assert";

const root = new URL("../..", import.meta.url).pathname;
const recorded = `${root}fixtures/recorded`;

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

async function shell(script: string, ...args: string[]): Promise<Outcome> {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", script, "sh", ...args],
    env: {
      RECORDS: `${Deno.execPath()} run --no-prompt --allow-read ${root}tools/records.ts`,
      LC_ALL: "C",
    },
    cwd: root,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

Deno.test("records: a pipe gives the lines of its file", async () => {
  for (const name of ["pipe", "pipe-zstd", "callchain", "two-events"]) {
    const file = await shell('$RECORDS "$1"', `${recorded}/${name}.perf.data`);
    assertEquals([file.code, file.stderr], [0, ""], name);
    const pipe = await shell('cat "$1" | $RECORDS -', `${recorded}/${name}.perf.data`);
    assertEquals([pipe.code, pipe.stderr], [0, ""], name);
    // The names of the events follow the data of a file.
    const names = (text: string) => text.replaceAll(/"event":"[^"]*"/g, "");
    assertEquals(names(pipe.stdout), names(file.stdout), name);
  }
});

Deno.test("records: a closed pipe ends it without a message", async () => {
  // The reader is gone long before the first line is written.
  const { stdout, stderr } = await shell(
    '{ { $RECORDS "$1"; echo "$?" >&3; } | true; } 3>&1',
    `${recorded}/callchain.perf.data`,
  );
  assertEquals([stdout, stderr], ["0\n", ""]);
});

Deno.test("records: damage gives exit code 1, wrong usage 2", async () => {
  const dir = await Deno.makeTempDir();
  const whole = await Deno.readFile(`${recorded}/callchain.perf.data`);
  await Deno.writeFile(`${dir}/cut`, whole.subarray(0, 2000));
  const cut = await shell('$RECORDS "$1"', `${dir}/cut`);
  assertEquals(cut.code, 1);
  assert(cut.stderr.startsWith(`records: ${dir}/cut: 0x30: file header: data ends at`));
  assert(cut.stdout.split("\n").length > 10);
  await Deno.remove(dir, { recursive: true });
  const usage = await shell("$RECORDS --type NONSENSE");
  assertEquals([usage.code, usage.stdout], [2, ""]);
});

const hasPerf = (await shell("perf --version")).code === 0;
if (!hasPerf) console.log("ignored: samples against perf script: no perf on this machine");

Deno.test({
  name: "records --order time: samples equal those of perf script",
  ignore: !hasPerf,
  async fn() {
    for (const name of ["callchain", "two-events", "all-cpus", "rounds", "pipe"]) {
      const file = `${recorded}/${name}.perf.data`;
      // One line per sample: no call chain is requested, and addresses are numbers.
      const theirs = await shell(
        '(ulimit -v 8000000; timeout 300 perf script --ns -G -F pid,tid,time,event,period,ip -i "$1")',
        file,
      );
      assertEquals(theirs.code, 0, theirs.stderr);
      const perf = theirs.stdout.trim().split("\n").map((line) => {
        const match = /^\s*(\d+)\/(\d+)\s+(\d+)\.(\d{9}):\s+(\d+)\s+(.*?):\s+([0-9a-f]+)/.exec(
          line,
        );
        assert(match !== null, line);
        const [, pid, tid, seconds, ns, period, event, ip] = match;
        return `${pid} ${tid} ${BigInt(`${seconds}${ns}`)} ${period} ${event} 0x${ip}`;
      });
      const { stdout } = await shell('$RECORDS --order time --type SAMPLE "$1"', file);
      const ours = stdout.trim().split("\n").map((line) => {
        const { pid, tid, time, period, event, ip } = JSON.parse(line);
        return `${pid} ${tid} ${time} ${period ?? 1} ${event} ${ip}`;
      });
      assertEquals(ours, perf, name);
      assert(ours.length > 5, name);
    }
  },
});
