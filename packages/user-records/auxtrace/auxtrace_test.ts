import { AUXTRACE } from "./auxtrace.ts";
import { check, layout } from "../hand_testing.ts";

Deno.test("AUXTRACE: records of a CPU and of a thread are decoded", () => {
  check(
    AUXTRACE,
    layout().u64(0x2fd0).u64(0x10000).u64(0xbc4cd519a6n).u32(3, -1, 7, 0),
    {
      body: { size: 0x2fd0n, offset: 0x10000n, reference: 0xbc4cd519a6n, idx: 3, tid: -1, cpu: 7 },
    },
  );
  check(AUXTRACE, layout().u64(8, 0, 1).u32(0, 3174, -1).u8(0, 0, 1, 0), {
    body: {
      size: 8n,
      offset: 0n,
      reference: 1n,
      idx: 0,
      tid: 3174,
      cpu: -1,
      reserved__: Uint8Array.of(0, 0, 1, 0),
    },
  });
});
