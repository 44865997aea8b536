import { AUXTRACE_ERROR } from "./auxtrace_error.ts";
import { check, layout } from "../hand_testing.ts";

const body = { type: 1, code: 5, cpu: 2, pid: 10, tid: 11, ip: 0xffff_8000_0000_1000n };

Deno.test("AUXTRACE_ERROR: format 0 has no time", () => {
  check(
    AUXTRACE_ERROR,
    layout().u32(1, 5, 2, 10, 11, 0).u64(body.ip).text("Overflow packet", 16),
    { body: { ...body, fmt: 0, msg: "Overflow packet" } },
  );
});

Deno.test("AUXTRACE_ERROR: format 1 has a time", () => {
  check(
    AUXTRACE_ERROR,
    layout().u32(1, 5, 2, 10, 11, 1).u64(body.ip).u64(123456789).text("Overflow packet", 16),
    { body: { ...body, fmt: 1, time: 123456789n, msg: "Overflow packet" } },
  );
});

Deno.test("AUXTRACE_ERROR: format 2 has the guest, after a message of 64 bytes", () => {
  check(
    AUXTRACE_ERROR,
    layout().u32(1, 5, -1, -1, -1, 2).u64(body.ip).u64(9).text("Lost trace data", 64).u32(4242, 1),
    {
      body: {
        ...body,
        cpu: -1,
        pid: -1,
        tid: -1,
        fmt: 2,
        time: 9n,
        msg: "Lost trace data",
        machine_pid: 4242,
        vcpu: 1,
      },
    },
  );
});
