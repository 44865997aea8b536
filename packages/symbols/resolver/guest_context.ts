import type { SearchPlaces } from "../files/file_search.ts";
import type { ResolverContext } from "./lookup.ts";
import type { SymbolOptions } from "./options.ts";
import type { SymbolObject } from "./resolution.ts";

/** The folder with a guest's mounted root: `--guestmount` has one for each process id. */
export function guestRoot(
  { guestMount }: Pick<SymbolOptions, "guestMount">,
  guest: number,
): string | undefined {
  return guestMount === undefined ? undefined : `${guestMount.replace(/\/$/, "")}/${guest}`;
}

/**
 * Whether the file at an object's path can be the recorded one. A guest's paths exist on the host
 * too, but name other files.
 */
export function isPathKnown(
  { guest, buildId }: SymbolObject,
  { places }: ResolverContext,
): boolean {
  return guest === undefined || buildId !== undefined || places.symfs !== undefined;
}

/**
 * The context for an object's machine: for a guest, the guest's files replace the host's, except
 * for files found by build id.
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

export function guestPlaces(places: SearchPlaces, root: string | undefined): SearchPlaces {
  const { symfs: _, byBuildId: __, ...common } = places;
  return root === undefined ? common : { ...common, symfs: root };
}
