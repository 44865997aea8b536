/** Finds a binary among the objects of a recording. */
import { PERF_SAMPLE_BRANCH_STACK } from "@perfdata/format/constants";
import type { PerfDataReader } from "@perfdata/format/records";
import type { ElfFile } from "@perfdata/symbols";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import type { BranchPlaces } from "./branch_profile.ts";

/** A binary among the objects of a recording. */
export interface RecordedBinary {
  /** Whether an object is the binary, by its number. */
  readonly isBinary: (object: number) => boolean;
  /** How that is known, as the end of a line; empty by its build id. */
  readonly how: string;
  /** Why there may be none, as the end of a line. */
  readonly why: string;
}

/** Which objects are the binary, how that is known, and why there may be none. */
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

/** Whether samples of a recording may have branches. */
export function hasBranches(reader: PerfDataReader): boolean {
  return reader.events.all.some(({ layout }) =>
    (layout.sampleType & PERF_SAMPLE_BRANCH_STACK) !== 0
  );
}

/** By what an object is the file: its build id, or where one of both has none its name. */
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
