/**
 * The script of a picture: a click zooms, and a search highlights boxes and shows their share, as in
 * the pictures of FlameGraph. It reads the boxes from the picture, and sends no requests.
 */
export const FLAME_SCRIPT = String.raw`(() => {
const svg = document.currentScript.closest("svg");
const width = svg.viewBox.baseVal.width;
const height = svg.viewBox.baseVal.height;
const near = 0.02;
const boxes = [...svg.querySelectorAll("g")].map((group) => {
  const rect = group.querySelector("rect");
  const text = group.querySelector("text");
  return {
    group, rect, text,
    name: group.querySelector("title").textContent.split("\n", 1)[0],
    x: Number(group.dataset.x), width: Number(group.dataset.width), row: Number(group.dataset.row),
    y: Number(rect.getAttribute("y")), fill: rect.getAttribute("fill"),
    before: [rect.getAttribute("x"), rect.getAttribute("width")],
    label: text === null ? "" : text.textContent,
  };
});

const put = (box, x, w) => {
  const isSame = x === box.x && w === box.width;
  const [left, wide] = isSame ? box.before : [x.toFixed(2), Math.max(0.1, w - 0.5).toFixed(2)];
  box.rect.setAttribute("x", left);
  box.rect.setAttribute("width", wide);
  const room = Math.floor((w - 6) / 6.6);
  const label = isSame ? box.label : room < 3 ? ""
    : box.name.length <= room ? box.name : box.name.slice(0, room - 1) + "\u2026";
  if (label !== "" && box.text === null) {
    box.text = document.createElementNS(svg.namespaceURI, "text");
    box.text.setAttribute("y", box.y + 12);
    box.group.append(box.text);
  }
  if (box.text === null) return;
  box.text.setAttribute("x", (x + 3).toFixed(2));
  box.text.textContent = label;
};

const zoom = (to) => {
  const [left, scale] = to === undefined ? [0, 1] : [to.x, width / to.width];
  const right = to === undefined ? width : to.x + to.width;
  for (const box of boxes) {
    const isCaller = to !== undefined && box.row < to.row && box.x <= left + near &&
      box.x + box.width >= right - near;
    const isWithin = (to === undefined || box.row >= to.row) && box.x >= left - near &&
      box.x + box.width <= right + near;
    box.group.style.display = isCaller || isWithin ? "" : "none";
    box.group.style.opacity = isCaller ? "0.6" : "";
    if (isCaller) put(box, 0, width);
    else if (isWithin) put(box, (box.x - left) * scale, box.width * scale);
  }
  reset.style.display = to === undefined ? "none" : "";
};

let searched = "";
const search = (text) => {
  searched = text;
  let test = () => false;
  const [, between, flags] = /^\/(.+)\/([a-z]*)$/.exec(text) ?? [];
  try {
    const expression = new RegExp(between ?? text, between === undefined ? "" : flags);
    if (text !== "") test = (name) => expression.test(name);
  } catch {
    test = (name) => name.includes(text);
  }
  let [sum, end] = [0, -1];
  const found = boxes.filter((box) => test(box.name));
  for (const box of boxes) box.rect.setAttribute("fill", box.fill);
  for (const box of found) box.rect.setAttribute("fill", "#e600e6");
  // Callees of a box that matches do not count again.
  found.sort((a, b) => a.x - b.x || b.width - a.width);
  for (const box of found) {
    if (box.x < end - near) continue;
    sum += box.width;
    end = box.x + box.width;
  }
  matched.textContent = text === "" ? "" : "Matched: " + (100 * sum / width).toFixed(2) + "%";
  find.textContent = text === "" ? "Search" : "Reset Search";
};

const ask = () => {
  const text = prompt("Search for functions (a part of a name, or an expression):", searched);
  if (text !== null) search(text);
};

const label = (x, y, text, act) => {
  const element = document.createElementNS(svg.namespaceURI, "text");
  element.setAttribute("x", x);
  element.setAttribute("y", y);
  element.setAttribute("text-anchor", "end");
  element.textContent = text;
  svg.append(element);
  if (act === undefined) return element;
  element.setAttribute("role", "button");
  element.setAttribute("tabindex", "0");
  element.style.cursor = "pointer";
  element.addEventListener("click", act);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter") act();
  });
  return element;
};
const find = label(width - 6, 17, "Search", () => searched === "" ? ask() : search(""));
const reset = label(width - 110, 17, "Reset Zoom", () => zoom(undefined));
const matched = label(width - 6, height - 7, "");
reset.style.display = "none";

for (const box of boxes) {
  box.group.style.cursor = "pointer";
  box.group.addEventListener("click", () => zoom(box));
}
addEventListener("keydown", (event) => {
  const isSearch = event.key === "F3" || (event.ctrlKey || event.metaKey) && event.key === "f";
  if (isSearch) {
    event.preventDefault();
    ask();
  } else if (event.key === "Escape") {
    search("");
    zoom(undefined);
  }
});
})();`;
