/** Tests that need what is not on every machine: what cannot run here is counted as ignored, with its reason. */

export { notInstalled } from "../../packages/symbols/testing/installed.ts";

/**
 * The options of a test that cannot run for a reason: it counts as ignored, and one line says why.
 *
 * @param reason Nothing, where it can run.
 */
export function ignored(reason: string | undefined): { readonly ignore: boolean } {
  if (reason !== undefined) console.log(`ignored: ${reason}`);
  return { ignore: reason !== undefined };
}

/**
 * Counts as ignored what a test finds out only while it runs: that perf may not record here, say.
 *
 * @param t Context of the test that cannot go on.
 * @param reason Why.
 */
export async function skipped(t: Deno.TestContext, reason: string): Promise<void> {
  await t.step({ name: `skipped: ${reason}`, ignore: true, fn() {} });
}
