import { type JSX, useEffect, useLayoutEffect, useRef, useState } from "./preact.ts";
import { type PageColors, pageColors } from "./page_colors.ts";

/** Draws into a context whose units are CSS pixels. */
export type Draw = (
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  colors: PageColors,
) => void;

/** A canvas with the size of its place, redrawn when its size or content changes. */
export function Canvas(
  { draw, onSize, class: name = "", ...others }:
    & {
      readonly draw: Draw;
      /** Called with the size when it changes. */
      readonly onSize?: (width: number, height: number) => void;
      readonly class?: string;
    }
    & Omit<JSX.HTMLAttributes<HTMLCanvasElement>, "class">,
): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState<readonly [number, number]>([0, 0]);
  const [scheme, setScheme] = useState(0);
  useLayoutEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize((before) => before[0] === width && before[1] === height ? before : [width, height]);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setScheme((n) => n + 1);
    dark.addEventListener("change", changed);
    addEventListener("perfdata-scheme", changed);
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", changed);
      removeEventListener("perfdata-scheme", changed);
    };
  }, []);
  useEffect(() => {
    if (size[0] > 0) onSize?.(size[0], size[1]);
  }, [size]);
  useLayoutEffect(() => {
    const element = canvas.current;
    const [width, height] = size;
    if (element === null || width === 0 || height === 0) return;
    const frame = requestAnimationFrame(() => {
      const ratio = devicePixelRatio || 1;
      const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (element.width !== wide) element.width = wide;
      if (element.height !== tall) element.height = tall;
      const context = element.getContext("2d") as CanvasRenderingContext2D;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      draw(context, width, height, pageColors());
    });
    return () => cancelAnimationFrame(frame);
  }, [draw, size, scheme]);
  return <canvas {...others} class={name} ref={canvas} />;
}
