import { check, layout } from "../hand_testing.ts";
import { ID_INDEX } from "./id_index.ts";

Deno.test("ID_INDEX: entries are decoded", () => {
  check(ID_INDEX, layout().u64(2).u64(5, 0, 3, -1).u64(6, 1, -1, 4711), {
    body: {
      entries: [
        { id: 5n, idx: 0n, cpu: 3n, tid: -1n },
        { id: 6n, idx: 1n, cpu: -1n, tid: 4711n },
      ],
    },
  });
});

Deno.test("ID_INDEX: a second array gives the guests", () => {
  check(
    ID_INDEX,
    layout().u64(2).u64(5, 0, 3, 77).u64(6, 1, 2, 78)
      .u64(4242, 1).u64(0, -1),
    {
      body: {
        entries: [
          { id: 5n, idx: 0n, cpu: 3n, tid: 77n },
          { id: 6n, idx: 1n, cpu: 2n, tid: 78n },
        ],
        entries_2: [{ machine_pid: 4242n, vcpu: 1n }, { machine_pid: 0n, vcpu: -1n }],
      },
    },
  );
});

Deno.test("ID_INDEX: an incomplete second array is kept as tail", () => {
  check(ID_INDEX, layout().u64(1).u64(5, 0, 3, 77).u64(9), {
    body: { entries: [{ id: 5n, idx: 0n, cpu: 3n, tid: 77n }] },
    tail: layout().u64(9).bytes(true),
  }, [true]);
  check(ID_INDEX, layout().u64(0).u64(9), {
    body: { entries: [] },
    tail: layout().u64(9).bytes(true),
  }, [
    true,
  ]);
});
