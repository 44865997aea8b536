/** The page. Its data comes from a server, from the page itself, or from dropped files. */
import { render } from "../ui/preact.ts";
import { Store } from "../ui/store.ts";
import { App } from "./app.tsx";

function text(id: string): string {
  return document.getElementById(id)?.textContent?.trim() ?? "";
}

const store = new Store(text("worker"));
const from = document.documentElement.dataset["from"] ?? "files";
if (from === "server") {
  // A worker that was made of text has no address of its own.
  store.start({
    from: "server",
    address: new URL("./", location.href.replace(/#.*/, "")).href,
    compared: "compared" in document.documentElement.dataset,
  });
} else if (from === "report") store.start({ from: "report", packed: text("data") });
// Drawn when it is known that something is being opened.
const body = document.getElementById("app");
if (body !== null) render(<App store={store} takesFiles={from === "files"} />, body);
Object.assign(globalThis, { perfdata: store });
