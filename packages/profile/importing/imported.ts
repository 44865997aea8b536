import { mapKind } from "@perfdata/symbols/resolver";
import { percent, shortName } from "@perfdata/session";
import { FUNCTION_KIND, type ProfileEvent, type ProfileObject } from "../columns/profile.ts";

/** How a profile of another tool is imported. */
export interface ImportOptions {
  /** Name of the input. */
  readonly title: string;
  /** Whether each sample keeps its time, if the input has times. */
  readonly timed?: boolean;
  /** Numbers of the processes, threads and CPUs whose samples count: all without it. */
  readonly filter?: {
    readonly pids?: ReadonlySet<number> | undefined;
    readonly tids?: ReadonlySet<number> | undefined;
    readonly cpus?: ReadonlySet<number> | undefined;
  };
  /** Called with the bytes that were read since the call before. */
  readonly progress?: ((bytes: number) => void) | undefined;
}

/** Whether a sample is chosen; a number that is not known (-1) is in no list. */
export function isChosen(
  { filter }: ImportOptions,
  pid: number,
  tid: number,
  cpu: number,
): boolean {
  return filter === undefined ||
    filter.pids?.has(pid) !== false && filter.tids?.has(tid) !== false &&
      filter.cpus?.has(cpu) !== false;
}

/** Code, as the path of its object describes it. */
export interface ImportedObject {
  /** The object; `undefined` if nothing was mapped. */
  readonly object: ProfileObject | undefined;
  /** Level of its functions, one of `FUNCTION_KIND`. */
  readonly kind: number;
}

/** The object with a path, as a mapping or a program that printed it has it. */
export function objectOf(path: string, buildId = ""): ImportedObject {
  const kind = mapKind(path);
  const isKernel = kind === "kernel" || kind === "module" || kind === "bpf" ||
    kind === "file" && path.slice(path.lastIndexOf("/") + 1).startsWith("vmlinux");
  const isJit = kind === "anonymous" || path.endsWith(".so") && path.includes("/jitted-");
  return {
    object: {
      name: shortName({ name: path, kernel: isKernel }),
      path,
      ...buildId === "" ? {} : { buildId },
    },
    kind: isKernel
      ? FUNCTION_KIND.KERNEL
      : kind === "guest-kernel"
      ? FUNCTION_KIND.OTHER
      : isJit
      ? FUNCTION_KIND.JIT
      : FUNCTION_KIND.USER,
  };
}

/** Events by name, in the order in which they occur. */
export class ImportedEvents {
  /** The events. */
  readonly list: ProfileEvent[] = [];
  readonly #numbers = new Map<string, number>();

  /** The number of an event. */
  number(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      const unit = /^(cpu|task)-clock\b/.test(name) ? "nanoseconds" : "count";
      this.#numbers.set(name, number = this.list.push({ name, unit }) - 1);
    }
    return number;
  }
}

/** Counts how many samples have a name and callers. */
export class ImportedTrust {
  #samples = 0;
  #named = 0;
  #callers = 0;

  /** Adds samples. */
  add(count: number, isNamed: boolean, hasCallers: boolean): void {
    this.#samples += count;
    if (isNamed) this.#named += count;
    if (hasCallers) this.#callers += count;
  }

  /** The line about the profile, with what the format cannot say. */
  text(format: string, unknown: readonly string[]): string {
    return [
      format,
      `${percent(this.#named, this.#samples)} of samples have a function`,
      `${percent(this.#callers, this.#samples)} have callers`,
      ...unknown,
    ].join("; ");
  }
}
