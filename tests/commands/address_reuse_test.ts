/**
 * Addresses that belong to several objects over time: each command names samples by the mapping at
 * their time.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import { HEADER_ARCH } from "@perfdata/format/constants";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { IN_WORK, oneFunction } from "../support/mapped_recording.ts";
import { inFolder, tool } from "../support/tool.ts";

const CASES = new URL("../../fixtures/cases/", import.meta.url).pathname;
const X = 0x40_0000n;

/** A recording of process 7, to which all mappings and samples belong. */
function recording(items: readonly Item[]): Promise<Uint8Array> {
  const attr = emptyAttr();
  const flags = { ...attr.flags, sample_id_all: true };
  return asFile({
    // IP, TID, TIME
    events: [{
      attr: { ...attr, size: 120, sample_type: 7n, sample_period: 1n, flags },
      ids: [1n],
    }],
    items,
    features: [{ id: HEADER_ARCH, name: "ARCH" as const, value: "x86_64" }],
  }, true);
}

const map = (time: bigint, addr: bigint, filename: string): Item => ({
  record: {
    ...{ type: 1, name: "MMAP", misc: 2, sample_id: { pid: 7, tid: 7, time } },
    body: { pid: 7, tid: 7, addr, len: 0x1000n, pgoff: 0n, filename },
  },
});

const samples = (time: bigint, ip: bigint, count: number): Item[] =>
  Array.from({ length: count }, (_, i) => ({
    record: {
      ...{ type: 9, name: "SAMPLE", misc: 2 },
      body: { ip, pid: 7, tid: 7, time: time + BigInt(i), period: 1n },
    },
  }));

/** Samples by a column of `funcs`, and by matching names in `tree`, `folded` and `script`. */
async function counted(
  path: string,
  names: readonly string[],
  column: "sym" | "dso",
): Promise<Record<string, Record<string, number>>> {
  const counts = (lines: Iterable<readonly [line: string, count: number]>) => {
    const sums: Record<string, number> = {};
    for (const [line, count] of lines) {
      const name = names.find((name) => line.includes(name));
      if (name !== undefined) sums[name] = (sums[name] ?? 0) + count;
    }
    return sums;
  };
  const lines = async (command: string, ...args: readonly string[]): Promise<string[]> => {
    const { out, err, code } = await tool(command, [...args, path]);
    assertEquals(code, 0, err);
    return out.trim().split("\n");
  };
  const rows = (await lines("funcs", "--json")).map((line) => JSON.parse(line));
  const tree = (await lines("tree")).flatMap((line) => {
    const [, count] = /^ *[\d.]+% +[\d.]+% +(\d+) /.exec(line) ?? [];
    return count === undefined ? [] : [[line, Number(count)] as const];
  });
  return {
    funcs: counts(rows.map((row) => [row[column] ?? "", row.samples])),
    tree: counts(tree),
    script: counts((await lines("script", "-F", "ip,sym,dso")).map((line) => [line, 1])),
  };
}

const inAll = (counts: Record<string, number>) => ({ funcs: counts, tree: counts, script: counts });

Deno.test("bpf-reuse: a program counts while it is loaded, in every command", async () => {
  const [one, two] = ["bpf_prog_0000000000000001_one", "bpf_prog_0000000000000002_two"];
  assertEquals(
    await counted(`${CASES}bpf-reuse.perf.data`, [one, two], "sym"),
    inAll({ [one]: 4, [two]: 2 }),
  );
});

Deno.test("module-reuse: a module counts while it is mapped, in every command", async () => {
  assertEquals(
    await counted(`${CASES}module-reuse.perf.data`, ["[first]", "[second]"], "dso"),
    inAll({ "[first]": 4, "[second]": 2 }),
  );
});

Deno.test("dlopen, dlclose, dlopen at the same address: each library counts while it is mapped, in every command", () =>
  inFolder(async (folder) => {
    const [a, b] = [`${folder}/liba.so`, `${folder}/libb.so`];
    await Deno.writeFile(a, oneFunction({ names: ["work_a"] }));
    await Deno.writeFile(b, oneFunction({ names: ["work_b"] }));
    const path = `${folder}/perf.data`;
    await Deno.writeFile(
      path,
      await recording([
        map(1n, X, a),
        ...samples(10n, X + IN_WORK, 1),
        map(20n, X, b),
        ...samples(30n, X + IN_WORK, 2),
        map(40n, X, a),
        ...samples(50n, X + IN_WORK, 4),
      ]),
    );
    assertEquals(
      await counted(path, ["work_a", "work_b"], "sym"),
      inAll({ work_a: 5, work_b: 2 }),
    );
    for (const [name, count] of [["work_a", 5], ["work_b", 2]] as const) {
      const { out, err } = await tool("annotate", ["--insns", path, name]);
      assertStringIncludes(out, `: ${count} samples`, err);
    }
  }));

Deno.test("perf map: of two lines for an address the last one is used, and each command reports it once", () =>
  inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/tmp`);
    const path = `${folder}/perf.data`;
    await Deno.writeFile(
      path,
      await recording([
        map(1n, X, "//anon"),
        ...samples(10n, X + 0x10n, 3),
        ...samples(20n, X + 0x110n, 2),
      ]),
    );
    const said = async (lines: string): Promise<string[]> => {
      await Deno.writeTextFile(`${folder}/tmp/perf-7.map`, lines);
      const errors: string[] = [];
      for (
        const args of [["funcs"], ["tree"], ["script", "-F", "ip,sym"], ["export", "folded"]]
      ) {
        const [command = "", ...rest] = args;
        const { out, err, code } = await tool(command, [...rest, "--symfs", folder, path]);
        assertEquals(code, 0, err);
        assertMatch(out, /second/);
        assert(!out.includes("first"), out);
        errors.push(err.replaceAll(/\n +/g, " "));
      }
      return errors;
    };
    for (const err of await said("400000 20 first\n400100 20 other\n400000 20 second\n")) {
      assertEquals(err.split("several lines of the perf map name").length, 2, err);
    }
    // No sample is at an address with two lines.
    for (const err of await said("400200 20 first\n400200 20 other\n400000 120 second\n")) {
      assert(!err.includes("several lines"), err);
    }
  }));
