// Uses Deno's files: a thread that collects samples with their stacks (see recorded_profile.ts).
import { openSource } from "@perfdata/format/file-source";
import { guardHeap } from "@perfdata/format/heap-guard";
import type { Engine } from "@perfdata/session/engine";
import { serveBlocks } from "@perfdata/session/workers";
import type { OpenResolverOptions } from "@perfdata/symbols/open-resolver";
import { ProfileConsumer, type ProfileOptions } from "./recorded_profile.ts";

/** Input of the worker. */
export interface ProfileAbout {
  /** What is kept. */
  readonly profile: ProfileOptions;
  /** Where code is found, for stacks that have to be unwound. */
  readonly symbols: OpenResolverOptions;
}

guardHeap();
serveBlocks<ProfileAbout>({
  open: (path) => openSource(path),
  make: ({ profile }) => new ProfileConsumer(profile),
  unwind: async ({ symbols }, { recorded }: Engine) => {
    // Only copies of stacks need it.
    const { openResolver } = await import("@perfdata/symbols/open-resolver");
    return openResolver({ ...symbols, machine: recorded });
  },
});
