import {
  type ComponentChildren,
  type JSX,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "./preact.ts";

/** Maximum height of an element in all browsers, in pixels. */
const TALLEST = 8_000_000;

/** A list of lines of equal height, of which only the visible ones exist. */
export function VirtualList(
  { count, height, render, head, chosen = -1, onRange, class: name = "", ...others }: {
    readonly count: number;
    /** Height of a line in pixels. */
    readonly height: number;
    readonly render: (line: number) => ComponentChildren;
    /** Content that stays above the lines. */
    readonly head?: ComponentChildren;
    /** The line that is scrolled into view when it changes; -1 for none. */
    readonly chosen?: number;
    /** Called with the visible lines. */
    readonly onRange?: (from: number, to: number) => void;
    readonly class?: string;
  } & Omit<JSX.HTMLAttributes<HTMLDivElement>, "class" | "height">,
): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, size: 600 });
  const whole = count * height;
  const tall = Math.min(whole, TALLEST);
  const room = Math.max(1, tall - view.size);
  // If the lines exceed the maximum height, the scroll position is scaled.
  const position = whole <= TALLEST ? view.top : view.top / room * Math.max(0, whole - view.size);
  const first = Math.max(0, Math.floor(position / height));
  const last = Math.min(count, Math.ceil((position + view.size) / height) + 1);
  const measure = () => {
    const element = box.current;
    if (element === null) return;
    const { scrollTop: top } = element;
    const size = element.clientHeight - headOf(element);
    setView((before) => before.top === top && before.size === size ? before : { top, size });
  };
  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement;
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(measure, [count]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || chosen < 0) return;
    const at = chosen * height;
    const size = element.clientHeight - headOf(element);
    if (at >= position && at + height <= position + size) return;
    const isFar = at < position - size || at > position + 2 * size;
    const wanted = isFar ? at - (size - height) / 2 : at < position ? at : at + height - size;
    element.scrollTop = whole <= TALLEST ? wanted : wanted / Math.max(1, whole - size) * room;
    measure();
  }, [chosen, count]);
  useEffect(() => onRange?.(first, last), [first, last, count]);
  const lines: ComponentChildren[] = [];
  for (let line = first; line < last; line++) {
    lines.push(
      <div
        key={line}
        class="line"
        style={{ transform: `translateY(${view.top + line * height - position}px)`, height }}
        role="presentation"
      >
        {render(line)}
      </div>,
    );
  }
  return (
    <div {...others} class={`list ${name}`} ref={box} onScroll={measure}>
      {head}
      <div
        class="list-space"
        style={{ height: tall }}
        role={head === undefined ? "presentation" : "rowgroup"}
      >
        {lines}
      </div>
    </div>
  );
}

/** Returns the height of the content above the lines. */
function headOf(list: HTMLElement): number {
  const [head, space] = list.children;
  return space === undefined ? 0 : (head as HTMLElement).offsetHeight;
}

/** Returns the line that a key leads to; `undefined` for other keys. */
export function lineOfKey(key: string, at: number, count: number): number | undefined {
  const steps: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + 20,
    PageUp: at - 20,
    Home: 0,
    End: count - 1,
  };
  const to = steps[key];
  return to === undefined || count === 0 ? undefined : Math.max(0, Math.min(count - 1, to));
}
