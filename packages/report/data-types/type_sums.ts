import { DATA_CAUSES, type DataAccess, type DataCause } from "./data_types.ts";

/** Number and period of samples. */
export interface DataCount {
  /** Samples. */
  samples: number;
  /** Sum of their periods. */
  period: number;
}

/** Samples with an unknown data type, by reason. */
export interface UnknownTypes {
  /** By reason. */
  readonly without: ReadonlyMap<DataCause, DataCount>;
  /** All samples. */
  readonly total: DataCount;
}

/** Sums up {@link UnknownTypes}. */
export class TypeSums implements UnknownTypes {
  readonly without: ReadonlyMap<DataCause, DataCount> = new Map(
    DATA_CAUSES.map((cause) => [cause, { samples: 0, period: 0 }]),
  );
  readonly total: DataCount = { samples: 0, period: 0 };

  /** Adds the samples of an instruction. */
  add(access: DataAccess, count: DataCount): void {
    addCount(this.total, count);
    if ("type" in access) return;
    const sum = this.without.get(access.cause);
    if (sum !== undefined) addCount(sum, count);
  }
}

/** Adds to a sum. */
export function addCount(to: DataCount, { samples, period }: DataCount): void {
  to.samples += samples;
  to.period += period;
}
