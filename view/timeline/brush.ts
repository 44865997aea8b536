import { type JSX, useRef, useState } from "../ui/preact.ts";

/** A range of time. */
export type Range = readonly [number, number];

/** Pointer handling of a canvas on which a range of time is selected. */
export interface Brush {
  /** The range during a drag. */
  readonly range: Range | undefined;
  /** Time under the pointer. */
  readonly at: number | undefined;
  readonly handlers: Omit<JSX.HTMLAttributes<HTMLCanvasElement>, "class">;
}

/** Maximum movement of a click in pixels. */
const CLICK = 3;

/** Selects a range by dragging on a canvas that shows `span`. */
export function useBrush(
  span: Range,
  chosen: (range: Range | undefined) => void,
): Brush {
  const start = useRef<{ x: number; time: number } | undefined>();
  const [range, setRange] = useState<Range | undefined>();
  const [at, setAt] = useState<number | undefined>();
  const timeOf = (event: PointerEvent): number => {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - left) / Math.max(1, width)));
    return span[0] + share * (span[1] - span[0]);
  };
  const rangeTo = (time: number): Range => {
    const from = start.current?.time ?? time;
    return [Math.round(Math.min(from, time)), Math.round(Math.max(from, time))];
  };
  return {
    range,
    at,
    handlers: {
      onPointerDown(event) {
        if (event.button !== 0) return;
        start.current = { x: event.clientX, time: timeOf(event) };
        event.currentTarget.setPointerCapture(event.pointerId);
      },
      onPointerMove(event) {
        const time = timeOf(event);
        setAt(time);
        if (start.current === undefined) return;
        if (Math.abs(event.clientX - start.current.x) < CLICK && range === undefined) return;
        setRange(rangeTo(time));
      },
      onPointerUp(event) {
        if (start.current === undefined) return;
        const isClick = Math.abs(event.clientX - start.current.x) < CLICK;
        const next = isClick ? undefined : rangeTo(timeOf(event));
        start.current = undefined;
        setRange(undefined);
        chosen(next !== undefined && next[1] > next[0] ? next : undefined);
      },
      onPointerLeave: () => setAt(undefined),
    },
  };
}
