import { BPF_METADATA } from "./bpf_metadata.ts";
import { check, layout } from "../hand_testing.ts";

Deno.test("BPF_METADATA: a program's name and variables are decoded", () => {
  check(
    BPF_METADATA,
    layout().text("bpf_prog_1e9b6ca9e8b5f2a1_hrtimer", 512).u64(2)
      .text("version", 64).text("1.2.3", 256)
      .text("owner", 64).text("net", 256),
    {
      body: {
        prog_name: "bpf_prog_1e9b6ca9e8b5f2a1_hrtimer",
        entries: [{ key: "version", value: "1.2.3" }, { key: "owner", value: "net" }],
      },
    },
  );
});
