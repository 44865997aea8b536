import { SAMPLE_WORD, SAMPLE_WORDS } from "@perfdata/pt";
import { assertEquals } from "@std/assert";
import { NoText, WayTexts } from "./script_pt_ways.ts";

/** A row of a branch between two places. Other columns are derived, or given. */
function way(
  from: number,
  to: number,
  flags = 1,
  others: Partial<Record<keyof typeof SAMPLE_WORD, number>> = {},
): Int32Array {
  const words = new Int32Array(2 * SAMPLE_WORDS);
  const of = {
    ...{ FROM: from, TO: to, FLAGS: flags, FROM_HI: from + 1, FROM_LO: from + 2 },
    ...{ TO_HI: to + 3, TO_LO: to + 4, INSN: 5 },
    ...others,
  };
  for (const [name, value] of Object.entries(of)) {
    words[SAMPLE_WORDS + SAMPLE_WORD[name as keyof typeof SAMPLE_WORD]] = value;
  }
  return words;
}

Deno.test("WayTexts: a cached text is found by places and flags, also after the table grew", () => {
  const ways = new WayTexts();
  const all = Array.from({ length: 1000 }, (_, i) => way(i % 40, i, i % 3));
  for (const [number, words] of all.entries()) {
    assertEquals(ways.find(words, SAMPLE_WORDS), NoText.NEW);
    ways.keep(words, SAMPLE_WORDS, number);
    assertEquals(ways.find(words, SAMPLE_WORDS), number);
  }
  assertEquals(
    all.map((words) => ways.find(words, SAMPLE_WORDS)),
    all.map((_, number) => number),
  );
  assertEquals(ways.find(way(0, 0, 7), SAMPLE_WORDS), NoText.NEW);
  assertEquals(ways.find(way(-1, 0), SAMPLE_WORDS), NoText.NEW);
});

Deno.test("WayTexts: the same places at other addresses, or with other bytes, have another text that is not cached", () => {
  const ways = new WayTexts();
  const words = way(3, 4);
  assertEquals(ways.find(words, SAMPLE_WORDS), NoText.NEW);
  ways.keep(words, SAMPLE_WORDS, 0);
  assertEquals(ways.find(words, SAMPLE_WORDS), 0);
  for (const name of ["FROM_HI", "FROM_LO", "TO_HI", "TO_LO", "INSN"] as const) {
    assertEquals(ways.find(way(3, 4, 1, { [name]: 99 }), SAMPLE_WORDS), NoText.OTHER, name);
  }
  // Columns that are not in the text after the time.
  for (const name of ["TID", "CPU", "COMM", "DEPTH"] as const) {
    assertEquals(ways.find(way(3, 4, 1, { [name]: 99 }), SAMPLE_WORDS), 0, name);
  }
});
