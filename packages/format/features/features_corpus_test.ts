import { existsSync } from "node:fs";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { buildIdText } from "./build_id.ts";
import { decodeFeature, encodeFeature, type Feature } from "./feature.ts";
import { HEADER_BRANCH_STACK, HEADER_BUILD_ID, HEADER_STAT } from "./names.ts";
import { hasPerf, headerText, perf, perfLines, type Section, sectionsOf } from "./testing.ts";
import { cpuTopology, nrCpus } from "./topology.ts";
import { decode } from "../struct/mod.ts";

const CORPUS = Deno.env.get("PERFDATA_CORPUS") ??
  new URL("../../../../shared/corpus", import.meta.url).pathname;

const hasCorpus = existsSync(`${CORPUS}/INDEX.tsv`);
if (!hasCorpus) console.log(`ignored: no corpus at ${CORPUS} (PERFDATA_CORPUS)`);
interface CorpusFile {
  path: string;
  /** Whether the corpus index lists the file as damaged. */
  damaged: boolean;
  littleEndian: boolean;
  sections: Section[];
}

function* corpus(): Generator<CorpusFile> {
  const [head = "", ...lines] = Deno.readTextFileSync(`${CORPUS}/INDEX.tsv`).trimEnd().split("\n");
  const columns = head.split("\t");
  const column = (name: string) => columns.indexOf(name);
  for (const line of lines) {
    const cells = line.split("\t");
    if (!cells[column("kind")]?.startsWith("PERFILE2")) continue;
    const path = `${CORPUS}/${cells[column("path")]}`;
    const damage = cells[column("damage")] ?? "";
    yield { path, damaged: damage !== "", ...sectionsOf(Deno.readFileSync(path)) };
  }
}

const decodeAll = ({ sections, littleEndian }: CorpusFile): Feature[] =>
  sections.map(({ id, bytes, offset }) => decodeFeature(id, bytes, { littleEndian, base: offset }));

Deno.test({
  name:
    "corpus: encodeFeature restores every section; sections of sound files decode without errors",
  ignore: !hasCorpus,
  fn() {
    let count = 0;
    for (const file of corpus()) {
      for (const [i, feature] of decodeAll(file).entries()) {
        const { id, bytes } = file.sections[i] as Section;
        const again = encodeFeature(feature, file);
        const same = again.length === bytes.length && again.every((byte, at) => byte === bytes[at]);
        assert(same, `${file.path}: feature ${id}`);
        if (!file.damaged) {
          const error = feature.name === "RAW" ? feature.error : undefined;
          assertEquals(error?.located(), undefined, `${file.path}: feature ${id}`);
          // A pipe pads tracing data to a multiple of 8; otherwise, no bytes may be left.
          const tail = feature.name === "RAW" ? undefined : feature.tail;
          const padding = tail === undefined ||
            (tail.length < 8 && tail.every((byte) => byte === 0));
          assert(padding, `${file.path}: feature ${id} has a tail of ${tail?.length} bytes`);
        }
        count++;
      }
    }
    assert(count > 0);
    console.log(`${count} sections`);
  },
});

Deno.test({
  name: "corpus: encodeFeature restores sections with flipped bits",
  ignore: !hasCorpus,
  fn() {
    // One section of each kind suffices: the smallest, so that flips hit counts and lengths.
    const smallest = new Map<number, Section & { littleEndian: boolean }>();
    for (const { sections, littleEndian, damaged } of corpus()) {
      for (const section of damaged ? [] : sections) {
        const known = smallest.get(section.id);
        if (
          section.bytes.length > 0 &&
          (known === undefined || section.bytes.length < known.bytes.length)
        ) {
          smallest.set(section.id, { ...section, littleEndian });
        }
      }
    }
    const flip = fc.tuple(fc.nat(), fc.nat(7));
    for (const { id, bytes, littleEndian } of smallest.values()) {
      const early = Math.min(bytes.length, 2000);
      fc.assert(
        fc.property(fc.array(flip, { minLength: 1, maxLength: 3 }), (flips) => {
          const flipped = bytes.slice();
          for (const [at, bit] of flips) {
            flipped[at % early] = (flipped[at % early] as number) ^ (1 << bit);
          }
          const again = encodeFeature(decodeFeature(id, flipped, { littleEndian }), {
            littleEndian,
          });
          assert(
            again.length === flipped.length && again.every((byte, at) => byte === flipped[at]),
          );
        }),
        { numRuns: 200 },
      );
    }
  },
});

Deno.test({
  name: "corpus: CPU_TOPOLOGY has ids for all CPUs of NRCPUS, or no ids",
  ignore: !hasCorpus,
  fn() {
    let count = 0;
    for (const { path, damaged, sections, littleEndian } of corpus()) {
      const numbers = sections.find(({ id }) => id === 7);
      const topology = sections.find(({ id }) => id === 13);
      if (damaged || numbers === undefined || topology === undefined) continue;
      const { nr_cpus_avail } = decode(nrCpus, numbers.bytes, { littleEndian }).value;
      const { cpus } = decode(cpuTopology, topology.bytes, { littleEndian }).value;
      if (cpus.length > 0) assertEquals(cpus.length, nr_cpus_avail, path);
      count += cpus.length > 0 ? 1 : 0;
    }
    assert(count > 0);
  },
});

/** perf rejects an empty section and stops reading. */
const stopsPerf = ({ sections }: CorpusFile) =>
  sections.some(({ id, bytes }) =>
    bytes.length === 0 && ![HEADER_BUILD_ID, HEADER_BRANCH_STACK, HEADER_STAT].includes(id)
  );

Deno.test({
  name: "corpus: features as text equal `perf report --header-only -I`",
  ignore: !hasCorpus || !hasPerf,
  fn() {
    let files = 0;
    let lines = 0;
    for (const file of corpus()) {
      const { success, text } = perf(["report", "--header-only", "-I", "-i", file.path]);
      if (!success || stopsPerf(file)) continue;
      const expected = perfLines(text);
      assertEquals(headerText(decodeAll(file)), expected, file.path);
      files += expected.length > 0 ? 1 : 0;
      lines += expected.length;
    }
    assert(lines > 0);
    console.log(`${lines} lines of ${files} files`);
  },
});

Deno.test({
  name: "corpus: build ids equal `perf buildid-list`",
  ignore: !hasCorpus || !hasPerf,
  fn() {
    let count = 0;
    for (const file of corpus()) {
      const events = decodeAll(file).find((feature) => feature.name === "BUILD_ID");
      if (file.damaged || events === undefined) continue;
      const { success, text } = perf(["buildid-list", "-i", file.path]);
      if (!success) continue;
      const expected = text.split("\n").map((line) => line.trim().replace(/ +/, " "))
        .filter((line) => line !== "");
      const found = events.value.map((event) => `${buildIdText(event)} ${event.filename}`);
      assertEquals([...new Set(found)].sort(), [...new Set(expected)].sort(), file.path);
      count += expected.length;
    }
    assert(count > 0);
    console.log(`${count} build ids`);
  },
});
