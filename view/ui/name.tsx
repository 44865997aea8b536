import { type Finder, finderOf, foundName } from "../flame/search.ts";
import { type JSX, useEffect, useLayoutEffect, useRef, useState } from "./preact.ts";

const measuring = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;

/** How many characters of a text an element has room for. */
function roomFor(element: HTMLElement, text: string): number {
  measuring.font = getComputedStyle(element).font;
  const wide = measuring.measureText(text).width;
  const room = element.clientWidth;
  return wide <= room ? text.length : Math.floor(room / (wide / text.length));
}

/** A name, shortened to the room that its element has, with the part marked that a search found. */
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

/** What finds a search in names, if it can be searched for. */
export function findsIn(search: string): Finder | undefined {
  const find = finderOf(search);
  return typeof find === "function" ? find : undefined;
}
