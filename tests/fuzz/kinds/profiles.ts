import { bytesSource } from "@perfdata/format/bytes";
import { folded, pprof } from "@perfdata/export";
import { importedKind, importProfile } from "@perfdata/profile";
import { importCpuprofile } from "../../../packages/profile/importing/import_cpuprofile.ts";
import { importFolded } from "../../../packages/profile/importing/import_folded.ts";
import { importPerfScript } from "../../../packages/profile/importing/import_perf_script.ts";
import { importPprof } from "../../../packages/profile/importing/import_pprof.ts";
import { isExpected, run } from "../commands.ts";
import { digits, type InputKind } from "./kind.ts";

const SCRIPT = `demo 7/8 [001] 10.000000002:   250000 cycles:u:
\t     55d0c3b2b139 leaf (inlined)
\t     55d0c3b2b139 work+0x4 (/bin/demo)
  work.c:12
\tffffffff81000010 main+0x8 ([kernel.kallsyms])

demo 7/8 [001] 10.000000004:        1 page-faults:     55d0c3b2b139 fault (/bin/demo (deleted))
`;

const CPUPROFILE = JSON.stringify({
  nodes: [
    { id: 1, callFrame: { functionName: "(root)", url: "", lineNumber: -1 }, children: [2, 3] },
    { id: 2, callFrame: { functionName: "main", url: "file:///a.js", lineNumber: 1 } },
    { id: 3, callFrame: { functionName: "", url: "file:///a.js", lineNumber: 7 } },
  ],
  startTime: 1000,
  endTime: 2000,
  samples: [2, 3, 2],
  timeDeltas: [10, 20, 30],
});

const text = (value: string) => new TextEncoder().encode(value);

function joined(chunks: Iterable<Uint8Array<ArrayBuffer>>): Uint8Array {
  const bytes: number[] = [];
  for (const chunk of chunks) bytes.push(...chunk);
  return Uint8Array.from(bytes);
}

const IMPORTERS = [importPerfScript, importFolded, importPprof, importCpuprofile];

export const PROFILES: InputKind = {
  kind: "profile",
  async seeds() {
    const profile = await importPerfScript(bytesSource(text(SCRIPT)), { title: "seed" });
    return [
      { name: "perf-script", bytes: text(SCRIPT), fields: digits(SCRIPT) },
      { name: "cpuprofile", bytes: text(CPUPROFILE) },
      { name: "pprof", bytes: joined(pprof(profile)) },
      { name: "folded", bytes: joined(folded(profile, { kernel: true, tid: true })) },
    ];
  },
  targets: [{
    name: "importers",
    async run(bytes) {
      for (const importer of IMPORTERS) {
        try {
          await importer(bytesSource(bytes), { title: "fuzz", timed: true });
        } catch (error) {
          if (!isExpected(error)) throw error;
        }
      }
    },
  }, {
    name: "import by content",
    async run(bytes) {
      const kind = importedKind(bytes);
      if (kind === undefined) return;
      const profile = await importProfile(kind, bytesSource(bytes), { title: "fuzz" });
      joined(pprof(profile));
    },
  }, {
    name: "commands of profiles",
    async run(_, { path, folder }, random) {
      const [name = "", ...args] = random.pick([
        ["funcs", "--children", path],
        ["tree", path],
        ["flame", "--svg", "-f", "-o", `${folder}/flame.svg`, path],
        ["diff", path, path],
        ["export", "firefox", "-f", "-o", `${folder}/out`, path],
        ["view", "-f", "-o", `${folder}/view.html`, path],
        ["report", "--stdio", path],
        ["records", path],
      ]);
      await run(name, args);
    },
  }],
};
