import { type Settleable, settleable } from "@perfdata/format/bytes";
import {
  type Calls,
  CANCELLED,
  type Message,
  type ProgressState,
  startWorker,
  type WorkerScript,
} from "../worker/protocol.ts";

/** Sends queries to the worker. */
export class ViewClient {
  /** Called with the progress of the profile. */
  progress: (state: ProgressState) => void = () => {};
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Settleable<unknown>>();
  #next = 0;

  /** @param script The worker. */
  constructor(script: WorkerScript) {
    this.#worker = startWorker(script);
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

  /** Sends a query and returns the answer. */
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

  /** Terminates the worker; pending queries fail. */
  end(): void {
    this.#worker.terminate();
    for (const waiting of this.#waiting.values()) waiting.reject(new Error(CANCELLED));
  }
}
