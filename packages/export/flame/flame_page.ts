import { FLAME_PAGE } from "./flame_asset.ts";
import { packFlameData } from "./flame_codec.ts";
import type { FlameData } from "./flame_data.ts";

/**
 * A flame graph as a page of its own: one file that needs no network, with the data in it.
 *
 * Names go in as packed data only, never as markup.
 */
export async function flamePage(data: FlameData): Promise<string> {
  const packed = await packFlameData(data);
  // By hand: a replacement pattern would take `$&` out of the script.
  const [before = "", after = ""] = FLAME_PAGE.split("/*DATA*/");
  return before + packed + after;
}
