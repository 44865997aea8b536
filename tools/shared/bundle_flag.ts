/** `--symbols FILE` of commands that print records: reads names from a symbol bundle. */
import type { BundlePlaceSymbols } from "@perfdata/session/symbols";
import { about, complain } from "./cli.ts";
import { isRecording, notBundle } from "./not_bundle.ts";

export { isRecording };

/**
 * Opens a symbol bundle.
 *
 * @throws {InputError} If the file does not exist or is not a bundle.
 */
export async function bundledSymbols(
  path: string,
  demangle: boolean,
): Promise<BundlePlaceSymbols> {
  const bytes = about(path, () => Deno.readFileSync(path));
  // Imported here, so that commands without names do not load it.
  const { BundlePlaceSymbols } = await import("@perfdata/session/symbols");
  const { BundleError, SymbolBundle } = await import("@perfdata/symbols");

  try {
    const bundle = SymbolBundle.open(bytes);
    return new BundlePlaceSymbols(bundle, { demangle });
  } catch (error) {
    throw error instanceof BundleError ? notBundle(path, error) : error;
  }
}

export function reportUnnamed(
  tool: string,
  path: string,
  { addresses, unnamed, unverified, otherBuilds }: BundlePlaceSymbols,
): void {
  if (unverified > 0) {
    complain(
      `${tool}: ${path}: ${unverified} of ${addresses} addresses have a function that nothing verifies: ` +
        "no build id was recorded",
    );
  }
  for (const object of otherBuilds) complain(`${tool}: ${path}: has another build of ${object}`);
  const count = [...unnamed.values()].reduce((sum, some) => sum + some, 0);
  if (count === 0) return;
  complain(`${tool}: ${path}: no function for ${count} of ${addresses} addresses`);
}
