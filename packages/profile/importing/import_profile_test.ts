import { assertEquals } from "@std/assert";
import { importedKind } from "./import_profile.ts";

const bytes = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

Deno.test("importedKind: profiles of other tools are told by their content", () => {
  const kinds: [start: string, kind: string | undefined][] = [
    ["demo 7 [000] 1.000000: cycles: \n\t 10 main (/bin/demo)\n", "perf script"],
    ["demo 165 1001 cpu-clock:            4011da f (/tmp/demo)\n", "perf script"],
    ["demo 7/8 cycles: \n\t   4011da f (/tmp/demo)\n", "perf script"],
    ["stopped at 12 error: deadbeef (thing)\nat 12 error:\n", undefined],
    [`a;${"deep;".repeat(5000)}b 3\na 2\n`, "folded"],
    ['\n{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"', "cpuprofile"],
    ['{"traceEvents":[]}', undefined],
    // Types of values first, as most tools have them; time and type of the period first, as Go has them.
    ["\x0a\x04\x08\x01\x10\x02\x12\x04", "pprof"],
    ["\x48\xba\xa6\xd0\xbe\x8e\xf0\xf7\xdb\x18\x5a\x04\x08\x03\x10\x04", "pprof"],
    ["\x5a\x04\x08\x03\x10\x04\x60\x80\x80\x20", "pprof"],
    ["\x48\xba\xa6\xd0\xbe\x8e", undefined],
    ["\x0a\x04\x08\x01\x18\x02", undefined],
    ["PERFILE2", undefined],
    ["notes\n", undefined],
    ["", undefined],
  ];
  for (const [start, kind] of kinds) assertEquals(importedKind(bytes(start)), kind, start);
});
