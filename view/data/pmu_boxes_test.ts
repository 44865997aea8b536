import { assertEquals } from "@std/assert";
import { PLAIN_COLOR, PMU_COLORS } from "@perfdata/export/tree";
import { pmuColor, pmuNote } from "./pmu_boxes.ts";

const BOXES = { ofPmus: [Float64Array.of(30, 0, 0), Float64Array.of(10, 5, 0)] };

Deno.test("pmuColor: one PMU gives its color, several a mixture, none the plain color", () => {
  const [first = "", second = ""] = PMU_COLORS;
  assertEquals(pmuColor(BOXES, 1), second);
  assertEquals(pmuColor(BOXES, 2), PLAIN_COLOR);
  const channels = (color: string) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const [a, b] = [channels(first), channels(second)];
  // Three quarters of the first color, one quarter of the second.
  assertEquals(
    channels(pmuColor(BOXES, 0)),
    a.map((value, i) => Math.round((3 * value + (b[i] ?? 0)) / 4)),
  );
});

Deno.test("pmuNote: lists the shares in descending order, without PMUs of no weight", () => {
  const names = ["cpu_atom", "cpu_core"];
  assertEquals(pmuNote(BOXES, names, 0), "75.00% cpu_atom, 25.00% cpu_core");
  assertEquals(pmuNote(BOXES, names, 1), "100.00% cpu_core");
  assertEquals(pmuNote(BOXES, names, 2), "");
});
