import { type Settleable, settleable } from "@perfdata/format/es2024";
import { type Calls, CANCELLED, type Message, type ProgressState } from "../worker/protocol.ts";

/** Asks the worker. */
export class ViewClient {
  /** Called with how far the profile is. */
  progress: (state: ProgressState) => void = () => {};
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Settleable<unknown>>();
  #next = 0;

  /** @param url Its script, which is no module: a module is not loaded from a page on disk. */
  constructor(url: string) {
    this.#worker = new Worker(url);
    this.#worker.onmessage = ({ data }: MessageEvent<Message>) => {
      if ("progress" in data) return this.progress(data.progress);
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ("error" in data) waiting?.reject(new Error(data.error));
      else waiting?.resolve(data.result);
    };
    this.#worker.onerror = (event) => {
      for (const waiting of this.#waiting.values()) waiting.reject(new Error(event.message));
      this.#waiting.clear();
    };
  }

  /** Asks for something. */
  call<N extends keyof Calls>(
    name: N,
    ...args: Parameters<Calls[N]>
  ): Promise<ReturnType<Calls[N]>> {
    const waiting = settleable<unknown>();
    const id = this.#next++;
    this.#waiting.set(id, waiting);
    this.#worker.postMessage({ id, name, args });
    return waiting.promise as Promise<ReturnType<Calls[N]>>;
  }

  /** Ends the worker, with all that it does. */
  end(): void {
    this.#worker.terminate();
    for (const waiting of this.#waiting.values()) waiting.reject(new Error(CANCELLED));
  }
}
