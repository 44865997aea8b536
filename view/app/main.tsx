/** Entry point of the page. Its data comes from a server, from the page itself, or from dropped files. */
import { render } from "../ui/preact.ts";
import { Store } from "../ui/store.ts";
import { App } from "./app.tsx";

function text(id: string): string {
  return document.getElementById(id)?.textContent?.trim() ?? "";
}

const { from = "files", worker } = document.documentElement.dataset;
// A page on disk cannot load the files beside it, but there is one with all in it.
if (worker !== undefined && location.protocol === "file:") {
  location.replace(new URL(`perfdata.html${location.hash}`, location.href));
}
const store = new Store(
  worker === undefined
    ? { text: text("worker"), type: "classic" }
    : { text: `import ${JSON.stringify(new URL(worker, location.href))};`, type: "module" },
);
if (from === "server") {
  // A worker made from text has no own address to resolve against.
  store.start({
    from: "server",
    address: new URL("./", location.href.replace(/#.*/, "")).href,
    compared: "compared" in document.documentElement.dataset,
    live: "live" in document.documentElement.dataset,
  });
} else if (from === "report") store.start({ from: "report", packed: text("data") });
// Drawn after `start`, so that the page already shows that a recording is being opened.
const body = document.getElementById("app");
if (body !== null) render(<App store={store} takesFiles={from === "files"} />, body);
Object.assign(globalThis, { perfdata: store });
