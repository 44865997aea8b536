import type { Comparison, ComparisonQuery, Side } from "../data/comparison.ts";
import type { FlameQuery } from "../data/flame_boxes.ts";
import { type Shown, ViewEngine } from "../data/view_engine.ts";
import {
  type Call,
  CANCELLED,
  type FilesOpening,
  type Message,
  type Opening,
  type ProgressState,
} from "./protocol.ts";
import type { ProfileFormat } from "./saved_profile.ts";
import { reportSource, serverSource, type ViewSource } from "./worker_source.ts";

/** Opens dropped files. */
export type FileOpener = (opening: FilesOpening) => Promise<ViewSource>;

/** Answers the calls of the page. The worker's module calls this. */
export function serveCalls(openFiles: FileOpener | undefined): void {
  const scope = globalThis as unknown as {
    onmessage: ((event: { data: Call }) => void) | null;
    postMessage(message: Message, transfer?: Transferable[]): void;
  };
  let source: Promise<ViewSource> | undefined;
  let engine: (() => Promise<ViewEngine>) | undefined;
  let comparison: Promise<Comparison | undefined> | undefined;
  /** A kept state of a recording that is being made, to compare with. */
  let kept: ViewEngine | undefined;
  const progressed = (progress: ProgressState) => scope.postMessage({ progress });
  const open = (opening: Opening): Promise<ViewSource> => {
    if (opening.from === "server") return Promise.resolve(serverSource(opening));
    if (opening.from === "report") return reportSource(opening.packed);
    if (openFiles === undefined) {
      return Promise.reject(new Error("this page opens no files; perfdata view FILE does"));
    }
    return openFiles(opening);
  };
  const answer = async ({ name, args }: Call): Promise<unknown> => {
    if (name === "open") {
      const from = open(args[0] as Opening);
      source = from;
      const { base, hasCode } = await from;
      // Samples are read on the first query that needs them; the page sends fast queries before.
      let made: Promise<ViewEngine> | undefined;
      engine = () => made ??= readSamples(args[0] as Opening, from, progressed);
      comparison = kept = undefined;
      return { compared: base !== undefined, hasCode };
    }
    if (source === undefined || engine === undefined) throw new Error("nothing is open");
    const from = await source;
    switch (name) {
      case "head":
        return await from.head();
      case "index":
        return await from.index();
      case "info":
        return await from.info();
      case "switched":
      case "marks":
      case "counts":
      case "records":
      case "position":
      case "slice":
      case "code":
      case "sourceText":
      case "record":
      case "pt":
      case "ptPart":
      case "ptInsns":
        return await (from[name] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
      case "profile":
        return (await engine()).facts();
      case "save": {
        const [shown, format] = args as [Shown, ProfileFormat];
        const { savedProfile } = await import("./saved_profile.ts");
        return await savedProfile(await engine(), shown, format);
      }
      case "wait":
        return await from.growth?.(Number(args[0]));
      case "grow": {
        const made = new ViewEngine(await from.profile(() => {}));
        engine = () => Promise.resolve(made);
        comparison = undefined;
        return made.facts();
      }
      case "keep":
        kept = await engine();
        comparison = undefined;
        return;
      case "comparison":
        comparison ??= compare(kept ?? from, await engine(), progressed);
        return (await comparison)?.facts();
      case "compareFunctions":
      case "compareFlame": {
        const compared = await (comparison ??= compare(kept ?? from, await engine(), progressed));
        if (compared === undefined) throw new Error("there is nothing to compare with");
        const [shown, query, width] = args as [Shown, ComparisonQuery & FlameQuery, Side];
        return name === "compareFlame"
          ? compared.flame(shown, query, width)
          : compared.functions(shown, query);
      }
      default: {
        const views = await engine();
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

/** Reads the samples, unless that was cancelled. */
async function readSamples(
  { unread }: Opening,
  source: Promise<ViewSource>,
  progress: (state: ProgressState) => void,
): Promise<ViewEngine> {
  if (unread === true) throw new Error(CANCELLED);
  return new ViewEngine(await (await source).profile(progress));
}

/** Compares with the kept state, or reads the other recording, after the shown one. */
async function compare(
  other: ViewEngine | ViewSource,
  engine: ViewEngine,
  progress: (state: ProgressState) => void,
): Promise<Comparison | undefined> {
  const base = other instanceof ViewEngine
    ? other
    : other.base && new ViewEngine(await other.base(progress));
  if (base === undefined) return undefined;
  const { Comparison } = await import("../data/comparison.ts");
  return new Comparison(base, engine);
}
