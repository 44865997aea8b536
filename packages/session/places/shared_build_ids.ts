/** An object that was sampled. */
export interface IdentifiedObject {
  /** Its path. */
  readonly path: string;
  /** Its build id in lower-case hex, if it is known. */
  readonly buildId?: string | undefined;
}

/** The name of a kernel module in its path. */
const MODULE = /([^/]{1,255})\.ko(?:\.\w{1,4})?$/;

/**
 * Warns about build ids that several kernel modules share. All but one of these modules must have
 * another build id, so names of their functions may be those of another module.
 *
 * @param objects The objects of samples.
 *
 * @example
 * ```ts
 * import { sharedBuildIdTexts } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const modules = ["/lib/ext4.ko", "/lib/xfs.ko.zst"].map((path) => ({ path, buildId: "12ab" }));
 * assertEquals(sharedBuildIdTexts(modules), [
 *   "2 modules of the kernel have the build id 12ab, /lib/ext4.ko and /lib/xfs.ko.zst among them: " +
 *   "names in them may be those of another module",
 * ]);
 * ```
 */
export function sharedBuildIdTexts(objects: Iterable<IdentifiedObject>): string[] {
  const modules = new Map<string, Map<string, string>>();
  for (const { path, buildId } of objects) {
    const name = MODULE.exec(path)?.[1];
    if (buildId === undefined || name === undefined) continue;
    const paths = modules.get(buildId);
    if (paths === undefined) modules.set(buildId, new Map([[name, path]]));
    else if (!paths.has(name)) paths.set(name, path);
  }
  return Array.from(modules, ([buildId, paths]) => {
    const [one, another] = paths.values();
    return paths.size < 2
      ? ""
      : `${paths.size} modules of the kernel have the build id ${buildId}, ${one} and ${another} ` +
        "among them: names in them may be those of another module";
  }).filter((text) => text !== "");
}
