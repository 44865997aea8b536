/**
 * Serves the page to a browser on this machine, and answers its queries about one recording.
 *
 * @module
 */
import { type ProfileWeight, profileWeight } from "@perfdata/profile";
import { pack, type ViewProfile } from "@perfdata/export/tree";
import type { Selection } from "../data/selection.ts";
import type { CodeService } from "../recording/code_service.ts";
import type { PtQuery, PtService } from "../recording/pt_service.ts";
import type { RecordQuery } from "../recording/record_list.ts";
import type { RecordingService, SliceQuery } from "../recording/recording_service.ts";
import type { LiveState, ProgressState } from "../worker/protocol.ts";
import { FRAME } from "../worker/worker_source.ts";
import { ShortRequests } from "./short_requests.ts";

/** Creates a profile, and reports its progress. */
export type ProfileMaker = (
  progress: (state: ProgressState) => void,
  counts: ProfileWeight,
) => Promise<ViewProfile>;

export interface ViewServerOptions {
  /** First part of all paths, which cannot be guessed. */
  readonly token: string;
  readonly page: string;
  /** Answers queries about records; `undefined` for a pipe, which is gone. */
  readonly recording: RecordingService | undefined;
  /** Creates the profile; called once, unless the recording is being made. */
  readonly profile: ProfileMaker;
  /** Returns the code of functions in the profile, once the profile exists. */
  readonly code?: ((counts: ProfileWeight) => CodeService | undefined) | undefined;
  /** Returns a part of a recording that is being made, if it is saved. */
  readonly slice?: ((query: SliceQuery) => Promise<Uint8Array<ArrayBuffer>>) | undefined;
  /** Answers queries about the Intel PT of the recording. */
  readonly pt?: PtService | undefined;
  /**
   * Waits for a newer version of a recording that is being made. `profile` is then called for
   * each request.
   */
  readonly growth?: ((version: number) => Promise<LiveState>) | undefined;
  /** Creates the profile to compare with; called once. */
  readonly base?: ProfileMaker | undefined;
  /** Counts the requests that do not wait for the profile. */
  readonly short?: ShortRequests | undefined;
}

/** Requests that need the record headers at most, and no profile. */
const SHORT: ReadonlySet<string | undefined> = new Set([
  "",
  "head",
  "index",
  "switched",
  "pt",
  "records",
  "position",
  "record",
]);

/** Number of bytes of a profile sent at once. */
const CHUNK = 1 << 20;

/** Headers of all responses: no caching, no content sniffing, no frames, no referrer. */
const HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** Creates a random token of 128 bits. */
export function newToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Creates the request handler for `Deno.serve`.
 *
 * A browser allows any page to send requests to this address. Another page does not know the token, and a host name
 * that points here (DNS rebinding) is rejected.
 */
export function viewHandler(
  options: ViewServerOptions,
): (request: Request) => Promise<Response> {
  const { token, page, recording, profile, base, code, pt, growth, slice: kept } = options;
  const { short = new ShortRequests() } = options;
  const sent = new Map<string, SentProfile>();
  const sentOf = (name: "profile" | "base", counts: ProfileWeight): SentProfile | undefined => {
    const make = name === "base" ? base : profile;
    if (make === undefined) return undefined;
    const key = `${name} ${counts}`;
    const isGrowing = growth !== undefined && name === "profile";
    const known = (isGrowing ? undefined : sent.get(key)) ??
      new SentProfile((progress) => make(progress, counts));
    sent.set(key, known);
    return known;
  };
  const plain = (status: number, text: string) =>
    new Response(`${text}\n`, {
      status,
      headers: { ...HEADERS, "content-type": "text/plain; charset=utf-8" },
    });
  const value = (of: unknown) =>
    new Response(pack(of ?? null), {
      headers: { ...HEADERS, "content-type": "application/octet-stream" },
    });
  const answer = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    const host = request.headers.get("host") ?? "";
    if (!/^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/.test(host)) {
      return plain(403, "this address is answered as 127.0.0.1 only");
    }
    if (request.method !== "GET") return plain(405, "only GET is answered");
    const origin = request.headers.get("origin");
    if (origin !== null && origin !== `http://${host}`) return plain(403, "another page asks");
    const [, first, name, more] = url.pathname.split("/");
    if (first !== token || more !== undefined) return plain(404, "nothing here");
    const number = (of: string) => Number(/^\d{1,15}$/.exec(url.searchParams.get(of) ?? "")?.[0]);
    try {
      switch (name) {
        case "":
          return new Response(page, {
            headers: { ...HEADERS, "content-type": "text/html; charset=utf-8" },
          });
        case "head":
          return value(await recording?.head() ?? []);
        case "index":
          return value(await recording?.index());
        case "switched":
          return value(await recording?.switched());
        case "marks":
          return value(await recording?.marks());
        case "counts":
          return value(await recording?.counts());
        case "info": {
          const { info: _, ...shown } = await recording?.info() ?? { info: undefined };
          return value(recording === undefined ? undefined : shown);
        }
        case "profile":
        case "base": {
          const of = sentOf(name, countsOf(url));
          if (of === undefined) return plain(404, "there is nothing to compare with");
          return new Response(of.frames(), {
            headers: { ...HEADERS, "content-type": "application/octet-stream" },
          });
        }
        case "growth":
          if (growth === undefined) return plain(404, "the recording is not being made");
          return value(await growth(number("after")));
        case "code": {
          const query = parseCodeQuery(url.searchParams.get("query") ?? "{}");
          if (query === undefined) return plain(400, "query is no function");
          const service = code?.(countsOf(url));
          if (service === undefined) return plain(404, "there is no source of what was recorded");
          return value(await service.code(query.fn, query));
        }
        case "source":
          return value(code?.(countsOf(url))?.text(url.searchParams.get("file") ?? ""));
        case "pt":
          return value(await pt?.facts());
        case "pt-part":
        case "pt-insns": {
          if (pt === undefined) return plain(404, "there is no Intel PT to be read again");
          const query = parsePtQuery(url.searchParams.get("query") ?? "{}");
          if (query === undefined) return plain(400, "query is no part of a trace");
          return value(await (name === "pt-part" ? pt.part(query) : pt.insns(query)));
        }
        case "slice": {
          const slice = kept ?? recording?.slice.bind(recording);
          if (slice === undefined) {
            return plain(404, "what came through a pipe is gone: view --save FILE keeps it");
          }
          const query = parseQuery(url.searchParams.get("query") ?? "{}");
          if (query === undefined) return plain(400, "query is no part of a recording");
          return new Response(await slice(query), {
            headers: { ...HEADERS, "content-type": "application/octet-stream" },
          });
        }
        case "records":
        case "position":
        case "record": {
          if (recording === undefined) return plain(404, "what came through a pipe is gone");
          if (name === "record") return value(await recording.record(number("number")));
          const query = parseQuery(url.searchParams.get("query") ?? "{}");
          if (query === undefined) return plain(400, "query is no filter of records");
          return value(
            name === "records"
              ? await recording.records(query, number("from"), number("count"))
              : await recording.position(query, number("number")),
          );
        }
        default:
          return plain(404, "nothing here");
      }
    } catch (error) {
      return plain(500, error instanceof Error ? error.message : String(error));
    }
  };
  return async (request) => {
    const [, , name] = new URL(request.url).pathname.split("/");
    return SHORT.has(name) ? await short.during(() => answer(request)) : await answer(request);
  };
}

/** Parses the kind of weight. */
function countsOf(url: URL): ProfileWeight {
  return profileWeight(url.searchParams.get("counts")) ?? "period";
}

/** Parses a query that is a JSON object; `undefined` if it is not. */
function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? value as Record<string, unknown> : undefined;
}

function isList(of: unknown, type: string): boolean {
  return of === undefined || (Array.isArray(of) && of.every((one) => typeof one === type));
}

/** Parses a query of code: a function and a selection; `undefined` if it is invalid. */
function parseCodeQuery(text: string): (Selection & { readonly fn: number }) | undefined {
  const { fn, event, from, to, pids, tids, cpus } = parseObject(text) ?? {};
  const isNumber = (of: unknown) => of === undefined || (typeof of === "number" && of >= 0);
  const isGood = Number.isSafeInteger(fn) && Number.isSafeInteger(event) && isNumber(from) &&
    isNumber(to) && isList(pids, "number") && isList(tids, "number") && isList(cpus, "number");
  return isGood
    ? { fn, event, from, to, pids, tids, cpus } as Selection & { readonly fn: number }
    : undefined;
}

/** Parses a query of a part of a trace; `undefined` if it is invalid. */
function parsePtQuery(text: string): PtQuery | undefined {
  const { from, to, tid = -1, least = 0 } = parseObject(text) ?? {};
  const isGood = [from, to, tid, least].every((of) => typeof of === "number");
  return isGood && Number(to) >= Number(from) ? { from, to, tid, least } as PtQuery : undefined;
}

/** Parses a filter of records; `undefined` if it is invalid. */
function parseQuery(text: string): RecordQuery | undefined {
  const given = parseObject(text);
  if (given === undefined) return undefined;
  const isTime = (of: unknown) =>
    of === undefined || (typeof of === "string" && /^\d{1,20}$/.test(of));
  const { types, pids, tids, cpus, event, from, to } = given;
  const isGood = isList(types, "string") && isList(pids, "number") && isList(tids, "number") &&
    isList(cpus, "number") && (event === undefined || typeof event === "number") &&
    isTime(from) && isTime(to);
  return isGood ? { types, pids, tids, cpus, event, from, to } as RecordQuery : undefined;
}

/** Ends the work, because no request waits any longer. */
class Cancelled extends Error {}

/** A profile that is created on the first request, and cancelled if no request waits for it. */
class SentProfile {
  readonly #make: (progress: (state: ProgressState) => void) => Promise<ViewProfile>;
  readonly #listeners = new Set<(state: ProgressState) => void>();
  #bytes: Promise<Uint8Array<ArrayBuffer>> | undefined;

  constructor(make: (progress: (state: ProgressState) => void) => Promise<ViewProfile>) {
    this.#make = make;
  }

  #packed(): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#bytes !== undefined) return this.#bytes;
    const bytes = this.#make((state) => {
      // The error ends reading the recording.
      if (this.#listeners.size === 0) throw new Cancelled("cancelled");
      for (const listener of this.#listeners) listener(state);
    }).then((made) => pack(made));
    bytes.catch((error) => {
      if (error instanceof Cancelled && this.#bytes === bytes) this.#bytes = undefined;
    });
    return this.#bytes = bytes;
  }

  /** Streams the progress and then the profile, or an error. */
  frames(): ReadableStream<Uint8Array> {
    const frame = (kind: number, bytes: Uint8Array) => {
      const out = new Uint8Array(5 + bytes.length);
      out[0] = kind;
      new DataView(out.buffer).setUint32(1, bytes.length, true);
      out.set(bytes, 5);
      return out;
    };
    const json = (kind: number, value: unknown) =>
      frame(kind, new TextEncoder().encode(JSON.stringify(value)));
    let isGone = false;
    let listener: ((state: ProgressState) => void) | undefined;
    const send = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      try {
        const bytes = await this.#packed();
        for (let at = 0; at < bytes.length && !isGone; at += CHUNK) {
          controller.enqueue(frame(FRAME.DATA, bytes.subarray(at, at + CHUNK)));
        }
      } catch (error) {
        if (isGone) return;
        const message = error instanceof Error ? error.message : String(error);
        controller.enqueue(json(FRAME.ERROR, message));
      }
      if (!isGone) controller.close();
    };
    return new ReadableStream({
      start: (controller) => {
        listener = (state) => controller.enqueue(json(FRAME.PROGRESS, state));
        this.#listeners.add(listener);
        // Not awaited, since a stream can be cancelled only after it has started.
        send(controller).finally(() => this.#listeners.delete(listener as () => void));
      },
      cancel: () => {
        isGone = true;
        this.#listeners.delete(listener as () => void);
      },
    });
  }
}
