import { flameData, flameSvg } from "@perfdata/export/tree";
import { folded, pprof, speedscope } from "@perfdata/export";
import type { Shown, ViewEngine } from "../data/view_engine.ts";

/** Formats for saving a selection, in addition to a recording. */
export type ProfileFormat = "folded" | "pprof" | "speedscope" | "svg";

/** Converts the selection to a format of another tool. */
export async function savedProfile(
  engine: ViewEngine,
  shown: Shown,
  format: ProfileFormat,
): Promise<Blob> {
  const selected = engine.selected(shown);
  const { event, weight, inline } = shown;
  switch (format) {
    case "folded":
      return new Blob([...folded(selected, { event, weight, inline })]);
    case "speedscope":
      return new Blob([...speedscope(selected, { inline })], { type: "application/json" });
    case "pprof": {
      const stream = new Blob([...pprof(selected, { inline })]).stream();
      return await new Response(stream.pipeThrough(new CompressionStream("gzip"))).blob();
    }
    case "svg": {
      const data = flameData([selected], { inline });
      const text = flameSvg(data, { selection: { event, weight, root: "none" } });
      return new Blob([text], { type: "image/svg+xml" });
    }
  }
}
