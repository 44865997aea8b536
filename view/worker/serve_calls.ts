import { ViewEngine } from "../data/view_engine.ts";
import type { Call, Message, Opening } from "./protocol.ts";
import { reportSource, serverSource, type ViewSource } from "./source.ts";

/** What opens files that were dropped. */
export type FileOpener = (files: readonly File[], script: string) => Promise<ViewSource>;

/** What the module of the worker calls: answers the page. */
export function serveCalls(openFiles: FileOpener | undefined): void {
  const scope = globalThis as unknown as {
    onmessage: ((event: { data: Call }) => void) | null;
    postMessage(message: Message, transfer?: Transferable[]): void;
  };
  let source: Promise<ViewSource> | undefined;
  let engine: Promise<ViewEngine> | undefined;
  const open = (opening: Opening): Promise<ViewSource> => {
    if (opening.from === "server") return Promise.resolve(serverSource(opening.base));
    if (opening.from === "report") return reportSource(opening.packed);
    if (openFiles === undefined) {
      return Promise.reject(new Error("this page opens no files; perfdata view FILE does"));
    }
    return openFiles(opening.files, opening.script);
  };
  const answer = async ({ name, args }: Call): Promise<unknown> => {
    if (name === "open") {
      source = open(args[0] as Opening);
      await source;
      engine = source.then(async (from) => {
        const profile = await from.profile((progress) => scope.postMessage({ progress }));
        return new ViewEngine(profile);
      });
      // It is asked for later.
      engine.catch(() => {});
      return undefined;
    }
    if (source === undefined || engine === undefined) throw new Error("nothing is open");
    const from = await source;
    switch (name) {
      case "index":
        return await from.index();
      case "info":
        return await from.info();
      case "records":
      case "position":
      case "record":
        return await (from[name] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
      case "profile":
        return (await engine).facts();
      default: {
        const views = await engine;
        return (views[name] as (...args: readonly unknown[]) => unknown).apply(views, [...args]);
      }
    }
  };
  scope.onmessage = ({ data }) => {
    answer(data).then(
      (result) => scope.postMessage({ id: data.id, result }),
      (error) => {
        const message = error instanceof Error ? error.message : String(error);
        scope.postMessage({ id: data.id, error: message });
      },
    );
  };
}
