import { mapKind } from "@perfdata/symbols/resolver";
import { percent, shortName } from "@perfdata/session";
import { FUNCTION_KIND, type ProfileEvent, type ProfileObject } from "../columns/profile.ts";

/** Options for importing a profile. */
export interface ImportOptions {
  /** Name of the input. */
  readonly title: string;
  /** Whether each sample keeps its time, if the input has times. */
  readonly timed?: boolean | undefined;
  /** Processes, threads and CPUs whose samples count; all by default. */
  readonly filter?: {
    readonly pids?: ReadonlySet<number> | undefined;
    readonly tids?: ReadonlySet<number> | undefined;
    readonly cpus?: ReadonlySet<number> | undefined;
  } | undefined;
  /** Called with the bytes that were read since the last call. */
  readonly progress?: ((bytes: number) => void) | undefined;
}

/** Whether a sample passes the filter; an unknown number (-1) never does. */
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

/** The object of code, from its path. */
export interface ImportedObject {
  /** The object; `undefined` if unmapped. */
  readonly object: ProfileObject | undefined;
  /** Level of its functions, one of `FUNCTION_KIND`. */
  readonly kind: number;
}

/** The object with a path from a mapping or from printed output. */
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

/** Events by name, in order of appearance. */
export class ImportedEvents {
  readonly list: ProfileEvent[] = [];
  readonly #numbers = new Map<string, number>();

  /** The index of an event. */
  number(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      const unit = /^(cpu|task)-clock\b/.test(name) ? "nanoseconds" : "count";
      this.#numbers.set(name, number = this.list.push({ name, unit }) - 1);
    }
    return number;
  }
}

/** Counts samples with a name and with callers. */
export class ImportedTrust {
  #samples = 0;
  #named = 0;
  #callers = 0;

  add(count: number, isNamed: boolean, hasCallers: boolean): void {
    this.#samples += count;
    if (isNamed) this.#named += count;
    if (hasCallers) this.#callers += count;
  }

  /** The line about trust, with the data that the format lacks. */
  text(format: string, unknown: readonly string[]): string {
    return [
      format,
      `${percent(this.#named, this.#samples)} of samples have a function`,
      `${percent(this.#callers, this.#samples)} have callers`,
      ...unknown,
    ].join("; ");
  }
}
