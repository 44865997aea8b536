import { readKallsyms } from "@perfdata/symbols";
import { RECORDED, run } from "../commands.ts";
import { digits, type InputKind } from "./kind.ts";

const TEXT = `ffffffff81000000 T _text
ffffffff81000100 T do_work
ffffffff81000180 t do_more
ffffffffc0000000 t mod_start\t[my_mod]
ffffffffc0000040 b mod_data\t[my_mod]
`;

export const KALLSYMS: InputKind = {
  kind: "kallsyms",
  seeds: () => [{ name: "kallsyms", bytes: new TextEncoder().encode(TEXT), fields: digits(TEXT) }],
  targets: [{
    name: "kallsyms",
    run: (bytes) => void readKallsyms(bytes).table.lookup(0x1000),
  }, {
    name: "kallsyms of a recording",
    async run(_, { path }) {
      await run("funcs", ["--kallsyms", path, RECORDED]);
    },
  }],
};
