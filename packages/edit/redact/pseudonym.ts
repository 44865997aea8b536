import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";

const encoder = new TextEncoder();

/** Length of a token: 60 bits, so that a million texts are unlikely to have a common token. */
const LENGTH = 12;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/**
 * Replaces texts by tokens. The same text and key give the same token in every recording.
 * Without the key, nobody can test whether a token belongs to a guessed text.
 *
 * A token is the first 60 bits of HMAC-SHA-256 in base 32.
 *
 * @example
 * ```ts
 * import { Pseudonyms } from "@perfdata/edit";
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
   * Creates tokens with a key.
   *
   * @param key The secret.
   */
  constructor(key: string | Uint8Array) {
    this.#key = typeof key === "string" ? encoder.encode(key) : key;
  }

  /** The tokens created so far. */
  get tokens(): Iterable<string> {
    return this.#tokens.values();
  }

  /** Returns the token of a text: letters and digits. */
  token(text: string): string {
    let token = this.#tokens.get(text);
    if (token === undefined) {
      const hash = hmac(sha256, this.#key, encoder.encode(text));
      token = Array.from(hash.subarray(0, LENGTH), (byte) => ALPHABET[byte & 31]).join("");
      this.#tokens.set(text, token);
    }
    return token;
  }

  /** Replaces each part of a path by a token. */
  path(text: string): string {
    return text.split("/").map((part) => part === "" ? "" : this.token(part)).join("/");
  }

  /** Returns pseudonymous bytes of the same length, for build ids. Zeros stay zeros. */
  bytes(bytes: Uint8Array): Uint8Array {
    if (bytes.every((byte) => byte === 0)) return bytes.slice();
    return hmac(sha256, this.#key, bytes).slice(0, bytes.length);
  }
}
