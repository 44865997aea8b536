import type { SearchPlaces } from "../files/file_search.ts";
import type { ResolverContext } from "./lookup.ts";
import type { SymbolOptions } from "./options.ts";
import type { SymbolObject } from "./resolution.ts";

/** The folder in which the root of a guest is mounted: `--guestmount` has one for each process id. */
export function guestRoot(
  { guestMount }: Pick<SymbolOptions, "guestMount">,
  guest: number,
): string | undefined {
  return guestMount === undefined ? undefined : `${guestMount.replace(/\/$/, "")}/${guest}`;
}

/**
 * Whether a file found by its path may be the one that was recorded. Without the guest's files, the files of this
 * machine have the same paths and are other files.
 */
export function isPathKnown(
  { guest, buildId }: SymbolObject,
  { places }: ResolverContext,
): boolean {
  return guest === undefined || buildId !== undefined || places.symfs !== undefined;
}

/**
 * The context for the machine of an object: for a guest, the guest's files in place of those of the host. Files that
 * are known by their build ids alone stay.
 */
export function contextFor({ guest }: SymbolObject, context: ResolverContext): ResolverContext {
  if (guest === undefined) return context;
  const { symfs: _, vmlinux: __, kallsyms: ___, machine, ...options } = context.options;
  const { guestVmlinux, guestKallsyms } = options;
  const root = guestRoot(options, guest);
  const kallsyms = guestKallsyms ??
    (root === undefined || guestVmlinux !== undefined ? undefined : `${root}/proc/kallsyms`);
  return {
    ...context,
    options: {
      ...options,
      ...(machine === undefined ? {} : { machine: { arch: machine.arch } }),
      vmlinux: guestVmlinux,
      kallsyms,
    },
    places: guestPlaces(context.places, root),
  };
}

/** The places in which the files of a guest are searched. */
export function guestPlaces(places: SearchPlaces, root: string | undefined): SearchPlaces {
  const { symfs: _, byBuildId: __, ...common } = places;
  return root === undefined ? common : { ...common, symfs: root };
}
