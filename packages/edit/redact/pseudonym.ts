import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";

const encoder = new TextEncoder();

/** Characters of a token: 60 bits, so that two of a million texts are unlikely to have the same token. */
const LENGTH = 12;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/**
 * Turns texts into tokens: the same text with the same key into the same token, in every recording.
 * Without the key, nobody can test whether a token stands for a text that he guesses.
 *
 * A token is the first 60 bits of HMAC-SHA-256 in base 32.
 *
 * @example
 * ```ts
 * import { Pseudonyms } from "@perfdata/edit/pseudonym";
 * import { assertEquals, assertNotEquals } from "@std/assert";
 *
 * const names = new Pseudonyms("key");
 * assertEquals(names.token("nginx"), new Pseudonyms("key").token("nginx"));
 * assertNotEquals(names.token("nginx"), new Pseudonyms("other").token("nginx"));
 * ```
 */
export class Pseudonyms {
  readonly #key: Uint8Array;
  readonly #tokens = new Map<string, string>();

  /**
   * Knows no text yet.
   *
   * @param key The secret.
   */
  constructor(key: string | Uint8Array) {
    this.#key = typeof key === "string" ? encoder.encode(key) : key;
  }

  /** The tokens that were given so far. */
  get tokens(): Iterable<string> {
    return this.#tokens.values();
  }

  /** The token of a text: letters and digits. */
  token(text: string): string {
    let token = this.#tokens.get(text);
    if (token === undefined) {
      const hash = hmac(sha256, this.#key, encoder.encode(text));
      token = Array.from(hash.subarray(0, LENGTH), (byte) => ALPHABET[byte & 31]).join("");
      this.#tokens.set(text, token);
    }
    return token;
  }

  /** A path of which each part is a token; what has a meaning to perf stays. */
  path(text: string): string {
    return text.split("/").map((part) => part === "" ? "" : this.token(part)).join("/");
  }

  /** Bytes of the same number, from a token of them: for build ids. */
  bytes(bytes: Uint8Array): Uint8Array {
    if (bytes.every((byte) => byte === 0)) return bytes.slice();
    return hmac(sha256, this.#key, bytes).slice(0, bytes.length);
  }
}
