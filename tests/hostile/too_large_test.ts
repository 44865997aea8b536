/** Each command reports a too large file of symbols, by name, if it lacks the file's data. */
import { assert, assertEquals } from "@std/assert";
import { mappedRecording, oneFunction } from "../support/mapped_recording.ts";
import { inFolder, tool } from "../support/tool.ts";

/** A program of one function, whose debug information is 100,000 empty units. */
function program(): Uint8Array {
  const unit = Uint8Array.of(7, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8);
  const info = new Uint8Array(unit.length * 100_000);
  for (let at = 0; at < info.length; at += unit.length) info.set(unit, at);
  return oneFunction({
    sections: [
      { name: ".debug_info", type: 1, bytes: info },
      { name: ".debug_abbrev", type: 1, bytes: Uint8Array.of(0) },
    ],
  });
}

Deno.test("too large debug information: each command reports it once, without --verbose", async () => {
  const commands = [
    ["funcs", "--sort", "sym,srcline"],
    ["readperf", "-f", "-o", "."],
    ["script", "-F", "+srcline"],
    ["tree", "--srcline"],
    ["flame", "-f", "-o", "flame.html"],
    ["export", "pprof", "-f", "-o", "profile.pb.gz"],
    ["records", "--type", "SAMPLE", "--srcline"],
  ];
  let compared = 0;
  await inFolder(async (cwd) => {
    const path = `${cwd}/program`;
    Deno.writeFileSync(path, program());
    Deno.writeFileSync(`${cwd}/perf.data`, await mappedRecording({ path }));
    for (const [command = "", ...args] of commands) {
      const { code, err } = await tool(command, [...args, "perf.data"], { cwd });
      assertEquals(code, 0, `${command}: ${err}`);
      const lines = err.split("\n").filter((line) => line.includes("too large"));
      assertEquals(lines.length, 1, `${command}: ${err}`);
      assert(lines[0]?.startsWith(`${command}: ${path}: `), err);
      compared++;
    }
  });
  console.log(`too large: ${compared} commands`);
  assertEquals(compared, commands.length);
});
