/** Binaries of a container that still runs: the names that perf finds through `/proc/PID/root`. */
import { assert, assertEquals } from "@std/assert";
import { ignored } from "../support/ignored.ts";
import { perfRecords, perfText } from "../support/perf.ts";
import { inFolder } from "../support/tool.ts";

const SOURCE = `
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) unsigned inside_container(unsigned n) {
  for (unsigned i = 0; i < 1000000; i++) n = n * 1103515245 + i;
  return n;
}
int main(void) {
  unsigned n = 1;
  puts("runs");
  fflush(stdout);
  /* An hour, if nobody ends it. */
  alarm(3600);
  for (;;) n = inside_container(n);
}
`;

/** Why no program can run in a mount namespace of its own here. */
function noContainer(): string | undefined {
  if (!perfRecords()) return "perf cannot record";
  try {
    const { success } = new Deno.Command("unshare", {
      args: ["-m", "mount", "-t", "tmpfs", "none", "/mnt"],
      stderr: "null",
    }).outputSync();
    if (!success) return "no mount namespaces";
    return new Deno.Command("gcc", { args: ["--version"], stdout: "null" }).outputSync().success
      ? undefined
      : "no gcc";
  } catch (error) {
    return (error as Error).message;
  }
}

Deno.test(
  "containers: functions of a binary that is in the container only have the names that perf prints",
  ignored(noContainer()),
  () =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/app.c`, SOURCE);
      Deno.mkdirSync(`${folder}/mount`);
      const built = new Deno.Command("gcc", {
        args: ["-O1", "-static", "-Wl,--build-id", "-o", "app", "app.c"],
        cwd: folder,
      }).outputSync();
      assert(built.success, new TextDecoder().decode(built.stderr));
      const script =
        'mount -t tmpfs none "$0/mount" && cp "$0/app" "$0/mount" && exec "$0/mount/app"';
      const container = new Deno.Command("unshare", {
        args: ["-m", "sh", "-c", script, folder],
        stdout: "piped",
      }).spawn();
      try {
        const reader = container.stdout.getReader();
        assert(!(await reader.read()).done, "the program did not start");
        await reader.cancel();
        Deno.removeSync(`${folder}/app`);
        const pid = `${container.pid}`;
        const recorded = new Deno.Command("perf", {
          args: [
            ...["record", "-q", "-B", "--buildid-mmap", "-e", "cpu-clock:u", "-p", pid],
            ...["-o", "perf.data", "--", "sleep", "1"],
          ],
          cwd: folder,
          stdin: "null",
        }).outputSync();
        assert(recorded.success, new TextDecoder().decode(recorded.stderr));
        const path = `${folder}/perf.data`;
        const perf = (await perfText(["report", "--stdio", "-F", "sample,sym"], path))?.stdout ??
          "";
        const wanted = [...perf.matchAll(/^ +(\d+) +\[.\] (\S+) *$/gm)].map(([, n, name]) =>
          `${n} ${name}`
        );
        assert(wanted.some((row) => row.endsWith(" inside_container")), perf);
        // The task may not read /proc: Deno wants all permissions for it.
        const { stdout, stderr } = new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", "tools/funcs.ts", "--sort", "sym", "--json", path],
        }).outputSync();
        const rows = new TextDecoder().decode(stdout).trimEnd().split("\n")
          .map((line) => JSON.parse(line));
        const said = new TextDecoder().decode(stderr);
        assertEquals(rows.map(({ samples, sym }) => `${samples} ${sym}`), wanted, said);
      } finally {
        container.kill("SIGKILL");
        await container.status;
      }
    }),
);
