import { SAMPLE_WORD } from "@perfdata/pt";

/** The key of a branch: places and flags, then values that may differ between processes. */
const KEY = [SAMPLE_WORD.FROM, SAMPLE_WORD.TO, SAMPLE_WORD.FLAGS] as const;
const REST = [
  SAMPLE_WORD.FROM_LO,
  SAMPLE_WORD.FROM_HI,
  SAMPLE_WORD.TO_LO,
  SAMPLE_WORD.TO_HI,
  SAMPLE_WORD.INSN,
] as const;
/** Words of an entry: index of its text plus one (0 if free); KEY; REST. */
const WORDS = 1 + KEY.length + REST.length;

/** Results of {@linkcode WayTexts.find} without a text. */
export const NoText = {
  /** The text can be cached. */
  NEW: -1,
  /**
   * Processes have the same code at different addresses: the text alternates, and is not cached.
   */
  OTHER: -2,
} as const;

/** Cached numbers of branches' texts, by source and target. */
export class WayTexts {
  #entries = new Int32Array(WORDS * 256);
  #count = 0;
  /** The free entry for the branch that was looked up last. */
  #free = 0;

  /** Index of the text of the branch whose words begin at `at`, or one of {@linkcode NoText}. */
  find(words: Int32Array, at: number): number {
    const entries = this.#entries;
    const from = words[at + SAMPLE_WORD.FROM] as number;
    const to = words[at + SAMPLE_WORD.TO] as number;
    const flags = words[at + SAMPLE_WORD.FLAGS] as number;
    const end = entries.length;
    let entry = slotOf(from, to, flags, end / WORDS - 1) * WORDS;
    for (; entries[entry] !== 0; entry = entry + WORDS === end ? 0 : entry + WORDS) {
      if (
        entries[entry + 1] !== from || entries[entry + 2] !== to || entries[entry + 3] !== flags
      ) continue;
      const isSame = entries[entry + 4] === words[at + SAMPLE_WORD.FROM_LO] &&
        entries[entry + 5] === words[at + SAMPLE_WORD.FROM_HI] &&
        entries[entry + 6] === words[at + SAMPLE_WORD.TO_LO] &&
        entries[entry + 7] === words[at + SAMPLE_WORD.TO_HI] &&
        entries[entry + 8] === words[at + SAMPLE_WORD.INSN];
      return isSame ? (entries[entry] as number) - 1 : NoText.OTHER;
    }
    this.#free = entry;
    return NoText.NEW;
  }

  /** Caches the index of the text of the branch that was looked up last. */
  keep(words: Int32Array, at: number, number: number): void {
    const entries = this.#entries;
    let to = this.#free;
    entries[to++] = number + 1;
    for (const word of KEY) entries[to++] = words[at + word] as number;
    for (const word of REST) entries[to++] = words[at + word] as number;
    if (2 * ++this.#count * WORDS > entries.length) this.#grow();
  }

  #grow(): void {
    const old = this.#entries;
    const entries = this.#entries = new Int32Array(2 * old.length);
    const end = entries.length;
    for (let at = 0; at < old.length; at += WORDS) {
      if (old[at] === 0) continue;
      const [, from = 0, to = 0, flags = 0] = old.subarray(at, at + 4);
      let entry = slotOf(from, to, flags, end / WORDS - 1) * WORDS;
      while (entries[entry] !== 0) entry = entry + WORDS === end ? 0 : entry + WORDS;
      entries.set(old.subarray(at, at + WORDS), entry);
    }
  }
}

function slotOf(from: number, to: number, flags: number, mask: number): number {
  const key = Math.imul(from, 0x2c1b3c6d) + Math.imul(to ^ flags << 20, 0x297a2d39);
  return (key ^ key >>> 15) & mask;
}
