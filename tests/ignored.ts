/** Tests that need what is not on every machine. */

/**
 * The options of a test that cannot run for a reason: it counts as ignored, and one line says why.
 *
 * @param reason Nothing, where it can run.
 */
export function ignored(reason: string | undefined): { readonly ignore: boolean } {
  if (reason !== undefined) console.log(`ignored: ${reason}`);
  return { ignore: reason !== undefined };
}
