/** Finds a binary among the objects of a recording. */
import { PERF_SAMPLE_BRANCH_STACK } from "@perfdata/format/constants";
import type { PerfDataReader } from "@perfdata/format/records";
import type { ElfFile } from "@perfdata/symbols";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import type { BranchPlaces } from "./branch_profile.ts";

/** A binary among the objects of a recording. */
export interface RecordedBinary {
  /** Whether an object, by its index, is the binary. */
  readonly isBinary: (object: number) => boolean;
  /** Remark for messages if the objects match by name only; empty if they match by build id. */
  readonly how: string;
  /** Reason for a missing binary: an object of its name has another build id; otherwise empty. */
  readonly why: string;
}

/** Finds the objects that are the binary: by build id, or by name if no object has its build id. */
export function recordedBinary(
  { objects }: Pick<BranchPlaces, "objects">,
  elf: ElfFile,
  binary: string,
): RecordedBinary {
  const ids = objects.map((object) => isOfFile(object, elf, binary));
  const isUnverified = ids.includes("name") && !ids.includes("build id");
  const wanted = isUnverified ? "name" : "build id";
  const same = objects.find(({ path }) => baseName(path) === baseName(binary));
  return {
    isBinary: (object) => ids[object] === wanted,
    how: isUnverified ? ", known by its name only: no build id was recorded" : "",
    why: same?.buildId === undefined ? "" : `; ${same.path} there has build id ${same.buildId}`,
  };
}

/** Whether an event of the recording samples branch stacks. */
export function hasBranches(reader: PerfDataReader): boolean {
  return reader.events.all.some(({ layout }) =>
    (layout.sampleType & PERF_SAMPLE_BRANCH_STACK) !== 0
  );
}

/**
 * The criterion by which an object is the file: the build id, or the name if either has no build
 * id.
 */
function isOfFile(
  { kind, path, buildId }: SymbolObject,
  elf: ElfFile,
  file: string,
): "build id" | "name" | undefined {
  if (kind !== "elf") return undefined;
  const own = elf.buildId();
  if (buildId !== undefined && own !== undefined) return buildId === own ? "build id" : undefined;
  return baseName(path) === baseName(file) ? "name" : undefined;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
