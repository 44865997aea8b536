import { assertEquals } from "@std/assert";
import { ignored, notInstalled } from "../../support/ignored.ts";
import { packed } from "./packing.ts";

/** Texts, runs of each length, and all bytes. */
const INPUTS = [
  new Uint8Array(0),
  Uint8Array.of(7),
  new TextEncoder().encode("what was packed, and packed, and packed"),
  new Uint8Array(70_000),
  Uint8Array.from({ length: 6000 }, (_, i) => i * i >> 7 & 0xff),
  Uint8Array.from({ length: 600 }, (_, i) => Math.floor(Math.sqrt(i * 8))),
];

for (const program of ["xz", "bzip2"] as const) {
  Deno.test({
    name: `packing: ${program} decompresses files written here`,
    ...ignored(notInstalled(program)),
    async fn() {
      for (const input of INPUTS) {
        const child = new Deno.Command(program, {
          args: ["-dc"],
          stdin: "piped",
          stdout: "piped",
          stderr: "piped",
        }).spawn();
        const output = child.output();
        const writer = child.stdin.getWriter();
        await writer.write(packed(input, program));
        await writer.close();
        const { success, stdout, stderr } = await output;
        assertEquals(new TextDecoder().decode(stderr), "", `${input.length} bytes`);
        assertEquals([success, stdout], [true, input]);
      }
    },
  });
}
