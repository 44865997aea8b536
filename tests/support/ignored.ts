/**
 * Tests that need programs or files that not every machine has: without them, a test counts as
 * ignored, with a reason.
 */

export { notInstalled } from "../../packages/symbols/testing/installed.ts";

/**
 * Options of a test that cannot run for a reason: it counts as ignored, and one line gives the
 * reason.
 *
 * @param reason `undefined` if the test can run.
 */
export function ignored(reason: string | undefined): { readonly ignore: boolean } {
  if (reason !== undefined) console.log(`ignored: ${reason}`);
  return { ignore: reason !== undefined };
}

/**
 * Counts a running test as ignored, if for example perf may not record here.
 *
 * @param t Context of the test.
 * @param reason Why the test cannot continue.
 */
export async function skipped(t: Deno.TestContext, reason: string): Promise<void> {
  await t.step({ name: `skipped: ${reason}`, ignore: true, fn() {} });
}
