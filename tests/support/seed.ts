/** Where everything that tests draw by chance starts. */

/** A seed by chance, of 31 bits. */
export function randomSeed(): number {
  const [seed = 0] = crypto.getRandomValues(new Uint32Array(1));
  return seed >>> 1;
}

/**
 * The seed of this run: always the same, unless `PERFDATA_SEED` is a number, or `random`; then a line
 * says which.
 *
 * @throws {RangeError} Where it is something else.
 */
export function testSeed(): number {
  const asked = Deno.env.get("PERFDATA_SEED");
  if (asked === undefined) return 1;
  const seed = asked === "random" ? randomSeed() : Number(asked);
  if (!Number.isSafeInteger(seed)) throw new RangeError(`PERFDATA_SEED is ${asked}: no number`);
  console.log(`PERFDATA_SEED=${seed}`);
  return seed;
}
