/** The seed of all random values in tests. */

/** A random seed of 31 bits. */
export function randomSeed(): number {
  const [seed = 0] = crypto.getRandomValues(new Uint32Array(1));
  return seed >>> 1;
}

/**
 * The seed of this run. It is constant unless `PERFDATA_SEED` is a number or `random`; then a line
 * prints the seed.
 *
 * @throws {RangeError} If the variable is anything else.
 */
export function testSeed(): number {
  const asked = Deno.env.get("PERFDATA_SEED");
  if (asked === undefined) return 1;
  const seed = asked === "random" ? randomSeed() : Number(asked);
  if (!Number.isSafeInteger(seed)) throw new RangeError(`PERFDATA_SEED is ${asked}: no number`);
  console.log(`PERFDATA_SEED=${seed}`);
  return seed;
}
