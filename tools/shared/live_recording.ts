/** A recording that arrives through a pipe or in files while it is made, as a profile that grows. */
import { type ByteSource, PerfDataError, type StreamSource } from "@perfdata/format/bytes";
import { fileSource } from "@perfdata/format/files";
import { open } from "@perfdata/perfdata";
import { filterProfile, joinPmus, type Profile, type ProfileWeight } from "@perfdata/profile";
import { LiveCollector, LiveProfile } from "@perfdata/profile/live";
import type { SymbolResolver } from "@perfdata/symbols";
import type { LiveState } from "../../view/worker/protocol.ts";
import { complain, Complaints, InputError } from "./cli.ts";
import type { PROFILE_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { openInput } from "./open_input.ts";
import { type ReadProfile } from "./open_profile.ts";
import { openRecording, titleOf } from "./open_recording.ts";
import { nameFilters, sampleFilter } from "./sample_flags.ts";
import { resolverOf } from "./symbol_flags.ts";

/** A profile of a recording that is being made. */
export interface MadeProfile {
  readonly profile: Profile;
  /** There are newer samples if the version of {@linkcode LiveState} is greater. */
  readonly version: number;
}

export interface LiveOptions {
  /** The command's name, for messages. */
  readonly tool: string;
  /** The recording: `-` for standard input. */
  readonly name: string;
  readonly flags: FlagsOf<typeof PROFILE_FLAGS>;
  /** Whether to read source lines and inlined calls, when the recording has ended. */
  readonly debugInformation: boolean;
  /** The column that is summed; periods by default. */
  readonly weight?: ProfileWeight;
  /** Receives all bytes as they arrive. */
  readonly save?: ((bytes: Uint8Array) => void) | undefined;
  /** The stream; standard input by default. */
  readonly source?: StreamSource | undefined;
  /** Paths of finished recordings, which are read one after the other instead of a stream. */
  readonly files?: AsyncIterable<string> | undefined;
}

/** Milliseconds between two profiles, at least. */
const PACE = 1000;
/** Milliseconds between two checks for new samples. */
const LOOK = 100;
/** Milliseconds between two searches for missing symbols. */
const RETRY = 10_000;
/** At most one of this many parts of the time is spent on making profiles. */
const SHARE = 4;

/** Reads a pipe or files in the background; makes a profile of the samples so far on request. */
export class LiveRecording {
  readonly #options: LiveOptions;
  readonly #live = new LiveProfile();
  readonly #complaints: Complaints;
  #collector: LiveCollector | undefined;
  /** The collector of the first recording. Its engine has the places of all recordings. */
  #first: LiveCollector | undefined;
  /** The count of samples in the finished recordings. */
  #before = 0;
  /** The symbols that new places are looked up in. */
  #symbols: Promise<SymbolResolver> | undefined;
  #resolver: SymbolResolver | undefined;
  /** Opens new symbols, with lines and inlined functions if the recording has ended. */
  #opened: (() => Promise<SymbolResolver>) | undefined;
  #bytes = 0;
  #arrived = performance.now();
  #isOver = false;
  #error: string | undefined;
  /** Why the stream could not be read to its end. */
  #broken: string | undefined;
  /** The version that was made last, and the number of samples in it. */
  #made = { version: 0, samples: 0, isOver: false };
  #nextAt = 0;
  #retryAt = 0;
  #turn: Promise<unknown> = Promise.resolve();
  /** The profile of another tool, which does not grow. */
  #imported: Profile | undefined;
  /** Settled when the stream has ended: whether all of it could be read. */
  readonly done: Promise<boolean>;

  constructor(options: LiveOptions) {
    const { tool, name } = options;
    this.#options = options;
    this.#complaints = new Complaints(`${tool}: ${name}`);
    this.done = this.#read().catch((error: Error) => {
      this.#error = error.message;
      complain(`${tool}: ${name}: ${error.message}`);
      return false;
    }).finally(() => {
      this.#isOver = true;
      this.#complaints.finish();
    });
  }

  /** The engine and the symbols of the profile; absent before the first record. */
  get source(): ReadProfile["source"] {
    const resolver = this.#resolver;
    return resolver === undefined || this.#first === undefined
      ? undefined
      : { engine: this.#first.engine, resolver };
  }

  get state(): LiveState {
    return {
      version: this.#made.version + (this.#hasMore ? 1 : 0),
      isOver: this.#isOver,
      error: this.#error,
      bytes: this.#bytes,
      quiet: performance.now() - this.#arrived,
    };
  }

  get #hasMore(): boolean {
    const { samples, isOver } = this.#made;
    return isOver !== this.#isOver || this.#samples > samples;
  }

  get #samples(): number {
    return this.#before + (this.#collector?.samples ?? 0);
  }

  /** Waits until there is a newer version, at most `most` ms. */
  async next(version: number, most = 5000): Promise<LiveState> {
    const end = performance.now() + most;
    for (;;) {
      const { state } = this;
      const now = performance.now();
      const isNewer = state.version > version && (this.#isOver || now >= this.#nextAt);
      if (isNewer || (this.#isOver && !this.#hasMore) || now >= end) return state;
      await new Promise((resolve) => setTimeout(resolve, Math.min(LOOK, end - now)));
    }
  }

  /** The profile so far, with its version; `undefined` before the first sample. */
  async profile(): Promise<MadeProfile | undefined> {
    const turn = this.#turn.then(() => this.#profile());
    this.#turn = turn.catch(() => {});
    const profile = await turn;
    return profile && { profile, version: this.#made.version };
  }

  async #profile(): Promise<Profile | undefined> {
    const start = performance.now();
    const { flags, name } = this.#options;
    const isOver = this.#isOver;
    const collector = this.#collector;
    const wasOver = this.#made.isOver;
    if (this.#hasMore || isOver) {
      this.#made = {
        version: this.#made.version + (this.#hasMore ? 1 : 0),
        samples: this.#samples,
        isOver,
      };
    }
    if (this.#imported !== undefined) return this.#imported;
    if (this.#first === undefined || this.#opened === undefined) return undefined;
    collector?.move();
    await this.#live.name(await (this.#symbols ??= this.#opened()));
    if (isOver !== wasOver) await this.#live.nameAgain(await this.#opened(), true);
    else if (start >= this.#retryAt) {
      await this.#live.nameAgain(await this.#opened());
      this.#retryAt = performance.now() + RETRY;
    }
    const all = this.#live.profile(titleOf(name));
    const profile = all && joinPmus(filterProfile(all, nameFilters(flags)));
    const end = performance.now();
    this.#nextAt = Math.max(start + PACE, end + (SHARE - 1) * (end - start));
    return profile;
  }

  /** Reads to the end of the stream; returns whether all could be read. */
  async #read(): Promise<boolean> {
    const { tool, name, flags, source, files } = this.#options;
    if (files !== undefined) return await this.#readFiles(files);
    const opened = source === undefined
      ? await openInput(name, { interruptible: true })
      : { source, kind: undefined };
    const input = opened.kind === "tables"
      ? opened
      : { ...opened, source: this.#counted(opened.source) };
    if (input.kind !== undefined) {
      const { readReadyProfile } = await import("./ready_input.ts");
      const recording = await openRecording(tool, name, input);
      const options = { opened: recording, timed: true };
      ({ profile: this.#imported } = await readReadyProfile(tool, name, flags, options));
      return true;
    }
    await this.#collect(input.source);
    return await this.#end(this.#broken);
  }

  /** Reads finished recordings, one after the other. A file that cannot be read is left out. */
  async #readFiles(files: AsyncIterable<string>): Promise<boolean> {
    for await (const path of files) {
      try {
        const source = fileSource(path);
        await this.#collect(source);
        this.#bytes += source.size;
      } catch (error) {
        if (!(error instanceof PerfDataError || error instanceof Deno.errors.NotFound)) throw error;
        complain(`${this.#options.tool}: ${path}: left out: ${error.message}`);
      }
      this.#arrived = performance.now();
      this.#before = this.#samples;
      this.#collector = undefined;
    }
    return await this.#end();
  }

  /** Adds the samples of a recording. */
  async #collect(source: ByteSource): Promise<void> {
    const { name, flags, debugInformation, files } = this.#options;
    using recording = await open(source, {
      diagnostics: this.#complaints.take,
      symbols: async ({ machine }) => {
        this.#opened ??= () =>
          resolverOf(flags, name, {
            machine,
            parameters: false,
            debugInformation: debugInformation && this.#isOver,
          });
        return this.#resolver = await (this.#symbols ??= this.#opened());
      },
    });
    const collector = new LiveCollector(this.#live, {
      unmapped: flags.on.verbose,
      weight: this.#options.weight,
    });
    this.#collector = collector;
    this.#first ??= collector;
    await recording.collect(collector, {
      live: files === undefined,
      filter: await sampleFilter(flags, recording),
      stitchLbr: flags.on["stitch-lbr"],
    });
  }

  /** Makes the last profile; returns whether all could be read. */
  async #end(broken?: string): Promise<boolean> {
    const { tool, name } = this.#options;
    if (this.#samples === 0) throw new InputError(broken ?? "no samples");
    this.#isOver = true;
    const made = await this.profile();
    if (made !== undefined) complain(`${tool}: ${name}: ${made.profile.trust}`);
    if (broken !== undefined) throw new InputError(broken);
    return this.#complaints.count === 0;
  }

  /** Returns a source that counts the bytes that are read, and keeps the error at its end. */
  #counted(source: ByteSource): StreamSource {
    const { save } = this.#options;
    const stream = source as StreamSource;
    return {
      temp: source.temp,
      read: async (into) => {
        let count = 0;
        try {
          count = await stream.read(into);
        } catch (error) {
          // The samples before the error are shown.
          this.#broken = error instanceof Error ? error.message : String(error);
        }
        this.#bytes += count;
        if (count > 0) {
          this.#arrived = performance.now();
          save?.(into.subarray(0, count));
        }
        return count;
      },
    };
  }
}
