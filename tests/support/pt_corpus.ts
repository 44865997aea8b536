/** Real Intel PT with its code: traces of the corpus. */
import { bytesRange, type CodeSpace, fixedSpace } from "@perfdata/intel-pt";
import type { CodePages } from "../../fixtures/stepped/wrap.ts";
import { corpusFolder } from "./corpus.ts";

/** A trace of the corpus and its pages; see its README. */
export function corpusTrace(
  name: string,
): { bytes: Uint8Array; space: CodeSpace; runs: CodePages[] } | undefined {
  const folder = `${corpusFolder}/pt-code/${name}`;
  try {
    const bytes = Deno.readFileSync(`${folder}.pt`);
    const dump = Deno.readFileSync(`${folder}.dump`);
    const addresses = new BigUint64Array(Deno.readFileSync(`${folder}.addr`).buffer);
    const runs: CodePages[] = [];
    for (const [i, address] of addresses.entries()) {
      if ((address & 0xfffn) === 0xfffn) continue;
      runs.push({ address, bytes: dump.subarray(4096 * i, 4096 * i + 4096) });
    }
    const ranges = runs.map(({ address, bytes }, i) => bytesRange(i, address, bytes));
    return { bytes, space: fixedSpace(ranges), runs };
  } catch (error) {
    console.log(`ignored: ${name}: ${(error as Error).message}`);
    return undefined;
  }
}

/** Joins adjacent pages: perf does not decode an instruction across two mappings. */
export function joined(pages: readonly CodePages[]): CodePages[] {
  const sorted = [...pages].sort((a, b) => a.address < b.address ? -1 : 1);
  const runs: { address: bigint; pages: Uint8Array[] }[] = [];
  for (const { address, bytes } of sorted) {
    const last = runs.at(-1);
    if (last !== undefined && last.address + BigInt(4096 * last.pages.length) === address) {
      last.pages.push(bytes);
    } else runs.push({ address, pages: [bytes] });
  }
  return runs.map(({ address, pages }) => {
    const bytes = new Uint8Array(4096 * pages.length);
    for (const [i, page] of pages.entries()) bytes.set(page, 4096 * i);
    return { address, bytes };
  });
}
