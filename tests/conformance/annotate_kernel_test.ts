/**
 * `annotate --insns` of kernel code: from its file, relocated to its run-time address, and from the
 * memory copy of `perf record --kcore`.
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";
import { skipped } from "../support/ignored.ts";

/** Link and run-time address of the kernel. */
const LINKED = 0xffff_ffff_8100_0000n;
const RAN = LINKED + 0x1a00_0000n;
const CODE = `.globl _text, hot
_text: nop
 jmp *%rax
 .type hot, @function
hot: inc %eax
 add $3, %ecx
 ret
 .size hot, .-hot
`;
/** Distance from `_text`, bytes and samples of each instruction of `hot`. */
const WANTED = [[3, "ffc0", 1], [5, "83c103", 2], [8, "c3", 0]] as const;

const UNLINKED = "gcc cannot link at the addresses of a kernel";

/** Links the kernel at an address; `undefined` if that is not possible. */
function link(folder: string, name: string, address: bigint): string | undefined {
  Deno.writeTextFileSync(`${folder}/kernel.S`, CODE);
  const path = `${folder}/${name}`;
  try {
    const { success } = new Deno.Command("gcc", {
      args: [
        ...["-nostdlib", "-static", "-Wl,-e,_text", `-Wl,-Ttext=0x${address.toString(16)}`],
        ...["-Wl,--build-id=none", "-o", path, `${folder}/kernel.S`],
      ],
      stderr: "null",
    }).outputSync();
    if (success) return path;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return undefined;
}

async function recording(): Promise<Uint8Array> {
  const map: Item = {
    record: {
      type: 1,
      name: "MMAP",
      misc: 1,
      body: {
        ...{ pid: -1, tid: 0, addr: RAN, len: 0x1000n, pgoff: RAN },
        filename: "[kernel.kallsyms]_text",
      },
    },
  };
  const comm: Item = {
    record: { type: 3, name: "COMM", misc: 0, body: { pid: 7, tid: 7, comm: "work" } },
  };
  const addresses = WANTED.flatMap(([at, , samples]) => Array(samples).fill(RAN + BigInt(at)));
  const samples = addresses.map((ip, i) => ({
    record: {
      type: 9,
      name: "SAMPLE",
      misc: 1,
      body: { ip, pid: 7, tid: 7, time: BigInt(1000 * i), period: 1n },
    },
  } as Item));
  // IP, TID, TIME
  const attr = { ...emptyAttr(), size: 120, sample_type: 7n, sample_period: 1n };
  const items = [map, comm, ...samples];
  return await asFile({ events: [{ attr, ids: [1n] }], items, features: [] }, true);
}

/** Output of `annotate --insns --json`: distance, bytes and samples of each instruction. */
function insns(out: string): unknown[] {
  return out.trimEnd().split("\n").map((line) => {
    const { address, bytes, samples } = JSON.parse(line);
    return [Number(BigInt(address) - RAN), bytes, samples];
  });
}

Deno.test("annotate --insns: a kernel file gives the kernel's code at the addresses where it ran", async (t) => {
  await inFolder(async (folder) => {
    const vmlinux = link(folder, "vmlinux", LINKED);
    if (vmlinux === undefined) return await skipped(t, UNLINKED);
    const path = `${folder}/perf.data`;
    Deno.writeFileSync(path, await recording());
    const { code, out, err } = await tool("annotate", [
      ...["--insns", "--json", "--vmlinux", vmlinux],
      ...[path, "hot"],
    ]);
    assertEquals([code, insns(out)], [0, WANTED.map((row) => [...row])], err);
    assertStringIncludes(err, "code of the kernel is that of its file, before it changed itself");

    const args = ["annotate", "--stdio", "--show-nr-samples", "-k", vmlinux, "-s", "hot"];
    const theirs = await perfText(args, path);
    if (theirs === undefined) return await skipped(t, "the same of perf, which is not installed");
    // perf prints the file's addresses.
    const rows = [...theirs.stdout.matchAll(/^ *(\d+) : +([0-9a-f]+): /gm)]
      .map(([, samples, at]) => [Number(BigInt(`0x${at}`) - LINKED), Number(samples)]);
    assertEquals(rows, WANTED.map(([at, , samples]) => [at, samples]), theirs.stderr);
  });
});

Deno.test("annotate --insns: a kcore copy gives the kernel's code", async (t) => {
  await inFolder(async (folder) => {
    const copy = `${folder}/rec/kcore_dir`;
    Deno.mkdirSync(copy, { recursive: true });
    if (link(folder, "rec/kcore_dir/kcore", RAN) === undefined) return await skipped(t, UNLINKED);
    Deno.writeFileSync(`${folder}/rec/data`, await recording());
    const symbols = [[0, "_text"], [3, "hot"], [9, "after"], [0x1000, "end"]] as const;
    Deno.writeTextFileSync(
      `${copy}/kallsyms`,
      symbols.map(([at, name]) => `${(RAN + BigInt(at)).toString(16)} T ${name}\n`).join(""),
    );
    const { code, out, err } = await tool("annotate", [
      "--insns",
      "--json",
      `${folder}/rec`,
      "hot",
    ]);
    assertEquals([code, insns(out)], [0, WANTED.map((row) => [...row])], err);

    Deno.removeSync(`${copy}/kcore`);
    const without = await tool("annotate", ["--insns", "--json", `${folder}/rec`, "hot"]);
    assertEquals([without.code, without.out], [1, ""]);
    assertStringIncludes(without.err, "the code of hot cannot be read: [kernel.kallsyms]: ");
  });
});
