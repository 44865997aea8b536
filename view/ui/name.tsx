import { type Finder, finderOf, foundName } from "../flame/search.ts";
import { type JSX, useEffect, useLayoutEffect, useRef, useState } from "./preact.ts";

const measuring = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;

/** Returns the number of characters of a text that fit into an element. */
function roomFor(element: HTMLElement, text: string): number {
  measuring.font = getComputedStyle(element).font;
  const wide = measuring.measureText(text).width;
  const room = element.clientWidth;
  return wide <= room ? text.length : Math.floor(room / (wide / text.length));
}

/** A name, shortened to the width of its element. The part that the search matches is marked. */
export function Name(
  { text, search }: { readonly text: string; readonly search: string },
): JSX.Element {
  const element = useRef<HTMLSpanElement>(null);
  const [room, setRoom] = useState(Infinity);
  const measure = () => {
    if (element.current !== null) setRoom(roomFor(element.current, text));
  };
  useLayoutEffect(measure, [text]);
  useEffect(() => {
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, [text]);
  const find = findsIn(search);
  const shown = foundName(text, room, find);
  const [from, to] = find?.(shown) ?? [0, 0];
  return (
    <span class="fit" ref={element}>
      {shown.slice(0, from)}
      {to > from && <mark>{shown.slice(from, to)}</mark>}
      {shown.slice(to)}
    </span>
  );
}

/** Creates the finder of a search; `undefined` if the search is empty or invalid. */
export function findsIn(search: string): Finder | undefined {
  const find = finderOf(search);
  return typeof find === "function" ? find : undefined;
}
