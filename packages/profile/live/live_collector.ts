import { profileColumns, type ProfileOptions } from "../collecting/recorded_profile.ts";
import { SampleCollector } from "../collecting/sample_collector.ts";
import type { LiveProfile } from "./live_profile.ts";

/** The count of collected samples at which they are moved to the live profile. */
const MANY = 1 << 12;

/** Collects samples for a {@linkcode LiveProfile} while a recording is read. */
export class LiveCollector extends SampleCollector {
  readonly #live: LiveProfile;

  /** Starts without samples. */
  constructor(live: LiveProfile, options: Omit<ProfileOptions, "timed" | "switches">) {
    super(profileColumns({ ...options, timed: true }));
    this.#live = live;
  }

  /** Moves the samples to the live profile. */
  move(): void {
    this.#live.add(this);
  }

  /** Moves the samples, if there are many. */
  settle(): Promise<void> {
    if (this.waiting >= MANY) this.move();
    return Promise.resolve();
  }

  /** Whether all samples were moved. */
  releasesStacks(): boolean {
    return this.waiting === 0;
  }

  /** Moves the last samples. */
  override async finish(): Promise<void> {
    await super.finish();
    this.move();
  }
}
