/** The page of a flame graph. */
import {
  changeColor,
  functionColors,
  KIND_COLORS,
  PLAIN_COLOR,
  shareChange,
} from "../../packages/export/flame/flame_colors.ts";
import { unpackFlameData } from "../../packages/export/flame/flame_codec.ts";
import type { FlameData } from "../../packages/export/flame/flame_data.ts";
import {
  boxFacts,
  boxName,
  flameFunctionName,
  percentage,
} from "../../packages/export/flame/flame_text.ts";
import {
  type FlameSelection,
  type FlameTree,
  flameTree,
  matchedWeight,
} from "../../packages/export/flame/flame_tree.ts";
import { Graph, neighbour } from "../flame/graph.ts";
import { searchNames } from "../flame/search.ts";
import { Times } from "./times.ts";

function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** The page: what is chosen, and what follows from it. */
class FlamePage {
  readonly #data: FlameData;
  readonly #names: string[];
  readonly #graph: Graph;
  readonly #times: Times;
  #range: readonly [number, number];
  #tree: FlameTree;
  #matched: Uint8Array | undefined;
  #zoom = -1;
  #focus = -1;

  constructor(data: FlameData) {
    this.#data = data;
    this.#names = data.names.map((_, number) => flameFunctionName(data, number));
    this.#range = [0, data.slices];
    this.#graph = new Graph(element("graph"), element("scroll"), element("space"));
    this.#times = new Times(element("times"), data, (range) => {
      this.#range = range;
      this.#select();
    });
    this.#fill();
    this.#tree = flameTree(data, this.#selection());
    this.#listen();
    this.#select();
  }

  /** What tests read. */
  get state() {
    const { total, totalSamples, length, rows } = this.#tree;
    return { total, totalSamples, length, rows, zoom: this.#zoom, focus: this.#focus };
  }

  get graph(): Graph {
    return this.#graph;
  }

  /** Boxes by name, for tests: the middle of each, and its facts. */
  boxes(name: string) {
    const found: { box: number; facts: string[]; depth: number }[] = [];
    for (let box = 0; box < this.#tree.length; box++) {
      if (boxName(this.#data, this.#tree, box) !== name) continue;
      const facts = boxFacts(this.#data, this.#tree, box, this.#event());
      found.push({ box, facts, depth: this.#tree.depth[box] as number });
    }
    return found;
  }

  #fill(): void {
    const data = this.#data;
    const sides = data.sides.length > 1 ? data.sides.join(" → ") : data.title;
    element("title").textContent = sides;
    element("title").title = sides;
    document.title = sides === "" ? "Flame graph" : `${sides} · flame graph`;
    const omitted = data.omittedNodes === 0
      ? ""
      : `${data.omittedNodes.toLocaleString("en-US")} boxes of at most ` +
        `${percentage(data.omittedShare)} are part of their callers`;
    element("trust").textContent = [data.trust, omitted].filter((text) => text !== "").join(" · ");
    const sampled = data.events.map(({ name }, number) => [String(number), name] as const)
      .filter((_, number) => data.rows.event.includes(number));
    option("event", sampled);
    element("event-label").hidden = sampled.length < 2;
    const sums = new Float64Array(data.threads.length);
    for (let i = 0; i < data.rows.node.length; i++) {
      (sums[data.rows.thread[i] as number] as number) += data.rows.count[i] as number;
    }
    const all = sums.reduce((sum, more) => sum + more, 0) || 1;
    const processes = new Map<number, { comm: string; sum: number }>();
    for (const [number, { pid, tid, comm }] of data.threads.entries()) {
      const process = processes.get(pid) ?? { comm, sum: 0 };
      process.sum += sums[number] as number;
      if (pid === tid) process.comm = comm;
      processes.set(pid, process);
    }
    const most = [...processes].sort(([, a], [, b]) => b.sum - a.sum);
    const busiest = data.threads.map((thread, number) => ({ ...thread, number }))
      .sort((a, b) => (sums[b.number] as number) - (sums[a.number] as number));
    option("thread", [
      ["", "all processes"],
      ...most.map(([pid, { comm, sum }]): [string, string] => [
        `p${pid}`,
        `process ${comm} ${pid} (${percentage(sum / all)})`,
      ]),
      ...busiest.map(({ comm, tid, number }): [string, string] => [
        `t${number}`,
        `thread ${comm} ${tid} (${percentage((sums[number] as number) / all)})`,
      ]),
    ]);
    if (data.sides.length > 1) select("coloring").value = "change";
    else select("coloring").querySelector("[value=change]")?.remove();
    if (data.slices < 2) select("order").querySelector("[value=time]")?.remove();
  }

  #event(): number {
    return Number(select("event").value || 0);
  }

  #selection(): FlameSelection {
    const chosen = select("thread").value;
    return {
      event: this.#event(),
      weight: select("weight").value as FlameSelection["weight"],
      order: select("order").value as FlameSelection["order"],
      root: select("root").value as FlameSelection["root"],
      pid: chosen.startsWith("p") ? Number(chosen.slice(1)) : undefined,
      thread: chosen.startsWith("t") ? Number(chosen.slice(1)) : undefined,
      from: this.#range[0],
      to: this.#range[1],
    };
  }

  /** Lays out what is chosen. */
  #select(): void {
    const selection = this.#selection();
    this.#tree = flameTree(this.#data, selection);
    this.#zoom = this.#focus = -1;
    const { pid, thread } = selection;
    this.#times.show(selection.event, (of) =>
      (thread === undefined || of === thread) &&
      (pid === undefined || this.#data.threads[of]?.pid === pid));
    this.#search();
  }

  #search(): void {
    const input = element<HTMLInputElement>("search");
    const matches = searchNames(this.#names, input.value);
    input.classList.toggle("wrong", matches instanceof Error);
    const found = element("found");
    if (matches === undefined || matches instanceof Error) {
      this.#matched = undefined;
      found.textContent = matches === undefined ? "" : matches.message;
    } else {
      const { boxes, value, count } = matchedWeight(this.#tree, matches);
      this.#matched = boxes;
      const share = this.#tree.total === 0 ? 0 : value / this.#tree.total;
      found.textContent = count === 0
        ? "nothing matches"
        : `${percentage(share)} in ${count.toLocaleString("en-US")} boxes`;
    }
    this.#draw();
  }

  #draw(): void {
    const coloring = select("coloring").value as "object" | "kind" | "change";
    this.#legend(coloring);
    const tree = this.#tree;
    const matched = this.#matched;
    const colors = coloring === "change" ? undefined : functionColors(this.#data, coloring);
    this.#graph.show({
      boxes: tree,
      nameOf: (box) => boxName(this.#data, tree, box),
      colorOf: (box) => {
        const item = tree.item[box] as number;
        if (item < 0) return PLAIN_COLOR;
        return colors === undefined
          ? changeColor(shareChange(tree, box))
          : colors[item] ?? PLAIN_COLOR;
      },
      isMatch: matched && ((box) => matched[box] === 1),
      zoom: this.#zoom,
      marked: [this.#focus],
      isUpward: select("layout").value === "flame",
    });
    this.#tell(this.#focus >= 0 ? this.#focus : this.#zoom);
  }

  #legend(coloring: string): void {
    const entries = coloring === "kind"
      ? KIND_COLORS
      : coloring === "change"
      ? [{ label: "less", color: "#4894d6" }, { label: "more", color: "#e87828" }]
      : [];
    element("legend").replaceChildren(...entries.map(({ label, color }) => {
      const entry = document.createElement("span");
      const sample = document.createElement("i");
      sample.style.background = color;
      entry.append(sample, label);
      return entry;
    }));
  }

  /** Shows what there is to say about a box, or about everything. */
  #tell(box: number): void {
    const facts = element("facts");
    if (box < 0) {
      const { totalSamples } = this.#tree;
      facts.textContent = `${totalSamples.toLocaleString("en-US")} samples of ` +
        `${this.#data.events[this.#event()]?.name ?? ""}`;
      return;
    }
    const name = boxName(this.#data, this.#tree, box);
    facts.textContent = [name, ...boxFacts(this.#data, this.#tree, box, this.#event())].join(" · ");
  }

  #zoomTo(box: number): void {
    this.#zoom = box;
    this.#draw();
  }

  #listen(): void {
    element("controls").addEventListener("submit", (event) => event.preventDefault());
    for (const id of ["event", "thread", "root", "order", "weight"]) {
      select(id).addEventListener("change", () => this.#select());
    }
    for (const id of ["layout", "coloring"]) {
      select(id).addEventListener("change", () => this.#draw());
    }
    element("search").addEventListener("input", () => this.#search());
    element("reset").addEventListener("click", () => this.#reset());
    element("help").addEventListener("click", () => element<HTMLDialogElement>("keys").showModal());
    const { canvas } = this.#graph;
    const tip = element("tip");
    canvas.addEventListener("pointermove", (event) => {
      const box = this.#graph.at(event);
      tip.hidden = box < 0;
      if (box < 0) return;
      const name = document.createElement("b");
      name.textContent = boxName(this.#data, this.#tree, box);
      const facts = boxFacts(this.#data, this.#tree, box, this.#event());
      tip.replaceChildren(name, `\n${facts.join("\n")}`);
      const { offsetWidth, offsetHeight } = tip;
      tip.style.left = `${
        Math.max(0, Math.min(event.clientX + 14, innerWidth - offsetWidth - 4))
      }px`;
      tip.style.top = `${
        event.clientY + 18 + offsetHeight > innerHeight
          ? Math.max(0, event.clientY - offsetHeight - 10)
          : event.clientY + 18
      }px`;
      this.#tell(box);
    });
    canvas.addEventListener("pointerleave", () => {
      tip.hidden = true;
      this.#tell(this.#focus >= 0 ? this.#focus : this.#zoom);
    });
    canvas.addEventListener("click", (event) => {
      const box = this.#graph.at(event);
      if (box < 0) return;
      this.#focus = box;
      this.#zoomTo(box === this.#zoom ? this.#tree.parent[box] as number : box);
    });
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  #reset(): void {
    this.#zoom = this.#focus = -1;
    if (this.#range[0] > 0 || this.#range[1] < this.#data.slices) {
      this.#range = [0, this.#data.slices];
      this.#times.reset();
      this.#select();
    } else this.#draw();
  }

  #key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const typing = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (!typing) return this.#reset();
      if (target.id === "search") {
        // Browsers clear the field and say nothing of it once it has lost the focus.
        event.preventDefault();
        (target as HTMLInputElement).value = "";
        this.#search();
      }
      target.blur();
      return;
    }
    if (typing || element<HTMLDialogElement>("keys").open) return;
    const actions: Record<string, () => void> = {
      "/": () => element("search").focus(),
      "?": () => element<HTMLDialogElement>("keys").showModal(),
      "0": () => this.#reset(),
      "i": () => this.#cycle("layout"),
      "o": () => this.#cycle("order"),
      "c": () => this.#cycle("coloring"),
      "n": () => this.#nextMatch(1),
      "N": () => this.#nextMatch(-1),
      "Enter": () => this.#focus >= 0 && this.#zoomTo(this.#focus),
      "ArrowUp": () => this.#move(event.key),
      "ArrowDown": () => this.#move(event.key),
      "ArrowLeft": () => this.#move(event.key),
      "ArrowRight": () => this.#move(event.key),
    };
    const action = actions[event.key];
    if (action === undefined || (event.key === "Enter" && target instanceof HTMLButtonElement)) {
      return;
    }
    event.preventDefault();
    action();
  }

  #cycle(id: string): void {
    const list = select(id);
    list.selectedIndex = (list.selectedIndex + 1) % list.options.length;
    list.dispatchEvent(new Event("change"));
  }

  #focusOn(box: number): void {
    this.#focus = box;
    // What is not in sight of the zoom is zoomed out to.
    const { x, width } = this.#tree;
    while (
      this.#zoom >= 0 &&
      ((x[box] as number) + (width[box] as number) <= (x[this.#zoom] as number) ||
        (x[box] as number) >= (x[this.#zoom] as number) + (width[this.#zoom] as number))
    ) this.#zoom = this.#tree.parent[this.#zoom] as number;
    this.#draw();
    this.#graph.reveal(box);
  }

  #nextMatch(step: number): void {
    const matched = this.#matched;
    if (matched === undefined) return;
    const { length } = matched;
    for (let i = 1; i <= length; i++) {
      const box = (this.#focus + step * i + length * 2) % length;
      if (matched[box] === 1) return this.#focusOn(box);
    }
  }

  #move(key: string): void {
    const isUpward = select("layout").value === "flame";
    const box = neighbour(this.#tree, this.#tree.value, this.#focus, key, isUpward);
    if (box >= 0) this.#focusOn(box);
  }
}

function select(id: string): HTMLSelectElement {
  return element<HTMLSelectElement>(id);
}

function option(id: string, values: readonly (readonly [string, string])[]): void {
  select(id).replaceChildren(...values.map(([value, text]) => new Option(text, value)));
}

const data = await unpackFlameData(element("data").textContent ?? "");
const page = new FlamePage(data);
(globalThis as { perfdataFlame?: FlamePage }).perfdataFlame = page;
