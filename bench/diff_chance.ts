/**
 * How often `diff` flags anything where nothing changed: pairs of recordings of the same program.
 *
 *   deno run -A bench/diff_chance.ts [RECORDINGS] [PAIRS]
 *
 * Records a small program with perf so many times (60), and compares so many pairs of different recordings
 * (200) by each measure. What else the machine does decides how much runs differ: run it on a busy one.
 */
import { diff } from "@perfdata/export";
import { type DiffMeasure } from "@perfdata/export/diff";
import { type Profile, ProfileConsumer } from "@perfdata/profile";
import { PerfDataReader } from "@perfdata/format";
import { openSource } from "@perfdata/format/file-source";
import { runEngine } from "@perfdata/session/engine";
import { openResolver } from "@perfdata/symbols/open-resolver";

const recordings = Number(Deno.args[0] ?? 60);
const pairs = Number(Deno.args[1] ?? 200);

/** Twelve functions of different weight, two threads, memory and system calls. */
const SOURCE = `
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
${
  Array.from({ length: 12 }, (_, i) => `
__attribute__((noinline)) double f${i}(double x, char *memory) {
  for (int k = 0; k < ${2000 * (i + 1)}; k++) x += x * 1e-9 + memory[(k * ${64 * i + 1}) & 0xfffff];
  return x;
}`).join("")
}
static void *work(void *arg) {
  char *memory = malloc(1 << 20);
  memset(memory, 1, 1 << 20);
  double x = 1;
  for (int round = 0; round < 150; round++) {
${Array.from({ length: 12 }, (_, i) => `    x = f${i}(x, memory);`).join("\n")}
    if (round % 8 == 0) getppid();
  }
  free(memory);
  return x == 42 ? arg : 0;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, work, 0);
  work(0);
  pthread_join(other, 0);
}
`;

function run(command: string, ...args: string[]): void {
  const { success, stderr } = new Deno.Command(command, { args, stdout: "null" }).outputSync();
  if (!success) throw new Error(`${command}: ${new TextDecoder().decode(stderr)}`);
}

const folder = Deno.makeTempDirSync();
try {
  Deno.writeTextFileSync(`${folder}/work.c`, SOURCE);
  run("gcc", "-O1", "-g", "-pthread", "-o", `${folder}/work`, `${folder}/work.c`);
  const profiles: Profile[] = [];
  for (let i = 0; i < recordings; i++) {
    const path = `${folder}/perf.data`;
    run("perf", "record", "-q", "-F", "4000", "-e", "cpu-clock", "-o", path, `${folder}/work`);
    const reader = await PerfDataReader.open(openSource(path));
    const consumer = new ProfileConsumer({ timed: true });
    const engine = await runEngine(reader, [consumer]);
    const resolver = openResolver({ machine: engine.recorded });
    profiles.push((await consumer.profile({ resolver, title: "" })).profile);
  }
  const event = profiles[0]?.events[0]?.name ?? "";
  for (const by of ["total", "samples", "time", "period"] as DiffMeasure[]) {
    let flagged = 0;
    for (let pair = 0; pair < pairs; pair++) {
      // Each recording beside others at growing distances.
      const a = pair % recordings;
      const b = (a + 1 + Math.floor(pair / recordings)) % recordings;
      const { rows } = diff([profiles[a] as Profile], [profiles[b] as Profile], { event, by });
      if (rows.some(({ isSignificant }) => isSignificant)) flagged++;
    }
    console.log(`--by ${by}: ${flagged} of ${pairs} pairs have a change`);
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}
