/** Runs `export`. */
import { mainEventFirst } from "@perfdata/profile";
import { formatOf, FORMATS } from "@perfdata/export/tree";
import { newFile } from "@perfdata/format/files";
import {
  about,
  aboutAsync,
  complain,
  listed,
  oneFile,
  readyOutput,
  UsageError,
  writeOut,
} from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { chosenEvent, hasOnlyPt, readProfile, writeChunks } from "../shared/open_profile.ts";
import { transformed } from "../shared/transformed.ts";
import { parseWeight } from "../shared/weight.ts";
import type { CallFormat } from "../shared/call_slices.ts";
import { parseJobs } from "../shared/record_flags.ts";
import { BRANCH_FORMATS } from "../shared/branch_formats.ts";
import type { FLAGS } from "../export.ts";

/** Formats that are a directory of tables, not a file. */
const TABLES = ["parquet", "arrow"] as const;

function isOfTables(format: string): format is typeof TABLES[number] {
  return (TABLES as readonly string[]).includes(format);
}

/** The names of all formats. */
const VERBS = [...Object.keys(FORMATS), ...Object.keys(BRANCH_FORMATS), ...TABLES];

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const [format = "", ...rest] = operands;
  if (isOfTables(format)) return await writeTables(format, flags, rest);
  for (const flag of ["names", "pt-calls", "partition"] as const) {
    if (flag === "partition" ? value.partition !== undefined : on[flag]) {
      throw new UsageError(`--${flag} is for the formats ${listed(TABLES)}`);
    }
  }
  const chosen = formatOf(format);
  if (Object.hasOwn(BRANCH_FORMATS, format)) {
    const name = oneFile(rest);
    const output = value.output ?? "-";
    if (value.itrace !== undefined) {
      throw new UsageError(`--itrace is not for ${format}: each branch of the trace counts`);
    }
    readyOutput(output, { force: on.force, temp: value.temp });
    // Imported here because the readers of binaries make startup slower.
    const { exportBranches } = await import("../shared/branch_exports.ts");
    return await aboutAsync(name, () => exportBranches(format, name, flags, output));
  }
  for (const flag of ["binary", "form"] as const) {
    if (value[flag] === undefined) continue;
    throw new UsageError(`--${flag} is for ${listed(Object.keys(BRANCH_FORMATS))}`);
  }
  if (chosen === undefined) {
    throw new UsageError(
      format === ""
        ? `no format: ${listed(VERBS)}`
        : `${format} is no format, expected ${listed(VERBS)}`,
      { word: format, known: VERBS },
    );
  }
  const name = oneFile(rest);
  const output = value.output ??
    (format === "folded" || name === "-"
      ? "-"
      : `${name.slice(name.lastIndexOf("/") + 1).replace(/\.data$/, "")}.${chosen.extension}`);
  if (output === "-" && format !== "folded" && Deno.stdout.isTerminal()) {
    throw new UsageError("standard output is a terminal: -o FILE");
  }
  readyOutput(output, { force: on.force, temp: value.temp });
  const isFolded = format === "folded";
  if (value.event !== undefined && !isFolded) {
    throw new UsageError("--event chooses what folded shows; the other formats have all events");
  }
  for (const flag of ["focus", "drop", "merge", "collapse", "only"] as const) {
    if (value[flag] === undefined || isFolded) continue;
    throw new UsageError(`--${flag} is for folded: the other formats have addresses and lines`);
  }
  if (on["collapse-recursion"] && !isFolded) {
    throw new UsageError(
      "--collapse-recursion is for folded: the other formats have addresses and lines",
    );
  }
  return await aboutAsync(name, async () => {
    const calls = (["chrome", "perfetto"] as const).find((of) => of === format);
    if (calls !== undefined && (on.pt || value.itrace === undefined && await hasOnlyPt(name))) {
      return await writeCalls(name, flags, output, calls);
    }
    const { profile: read, isWhole, isPt } = await readProfile("export", name, flags, {
      weight: parseWeight(value.weight),
      itrace: value.itrace,
      timed: chosen.timed ?? false,
      unmapped: chosen.unmapped ?? false,
      threads: (chosen.threads ?? true) || on["with-pid"] || on["with-tid"],
      switches: format === "firefox" || format === "chrome",
      debugInformation: isFolded ? on.inline : true,
      pt: on.pt,
      timeline: format === "firefox",
    });
    const all = isFolded ? transformed("export", name, flags, read) : read;
    const { profile, event } = isFolded
      ? chosenEvent("export", name, { profile: all, wanted: value.event })
      : { profile: mainEventFirst(all), event: 0 };
    const chunks = await chosen.write(profile, {
      event,
      weight: on.samples ? "samples" : "period",
      inline: isFolded ? on.inline : !on["no-inline"],
      kernel: on.kernel || on.all,
      jit: on.all,
      pid: on["with-pid"],
      tid: on["with-tid"],
      withoutComm: on["without-comm"],
      mergeCpus: on["merge-cpus"],
      durations: isPt,
    });
    const bytes = await writeChunks(output, on.force, chunks);
    if (output !== "-") complain(`export: ${output}: ${bytes} bytes, ${chosen.about}`);
    return isWhole ? 0 : 1;
  });
}

/** Writes recordings as tables in a directory. */
async function writeTables(
  format: typeof TABLES[number],
  flags: FlagsOf<typeof FLAGS>,
  files: readonly string[],
): Promise<number> {
  const { on, value } = flags;
  const folder = value.output;
  if (folder === undefined) throw new UsageError(`${format} needs a directory: -o DIR`);
  if (folder === "-") throw new UsageError(`${format} is a directory: -o DIR`);
  for (const flag of ["comm", "dso", "symbol", "event", "binary", "weight"] as const) {
    if (value[flag] === undefined) continue;
    throw new UsageError(`--${flag} is not for ${format}: its tables are asked by name`);
  }
  if (on.pt) throw new UsageError(`--pt is not for ${format}: --pt-calls`);
  const partition = value.partition?.split(",") ?? [];
  for (const part of partition) {
    if (part === "date" || /^[A-Za-z_][A-Za-z0-9_]*=[^/=]+$/.test(part)) continue;
    throw new UsageError(`--partition has ${part}, expected date or KEY=VALUE`);
  }
  const names = files.length > 1 ? files : [oneFile(files)];
  const { writeAllTables } = await import("../shared/written_tables.ts");
  const done = await writeAllTables(
    names.map((name) => ({
      ...{ tool: "export", name, folder, format, partition, flags },
      ...{ names: on.names, force: on.force, ptCalls: on["pt-calls"], itrace: value.itrace },
    })),
    parseJobs(value.jobs) ?? 1,
  );
  const of = names.length === 1 ? "" : ` of ${names.length - done.failed} recordings`;
  complain(`export: ${folder}: ${done.samples} samples${of}, ${done.bytes} bytes`);
  if (done.failed > 0) complain(`export: ${done.failed} of ${names.length} files were left out`);
  return done.failed === 0 && done.isWhole ? 0 : 1;
}

/** Writes the calls of a trace while it is decoded. */
async function writeCalls(
  name: string,
  flags: FlagsOf<typeof FLAGS>,
  output: string,
  format: CallFormat,
): Promise<number> {
  const { writeCallSlices } = await import("../shared/call_slices.ts");
  let bytes = 0;
  using file = output === "-"
    ? undefined
    : about(output, () => newFile(output, { force: flags.on.force }));
  const isWhole = await writeCallSlices("export", name, flags, format, (chunk) => {
    bytes += chunk.length;
    if (file === undefined) writeOut(chunk);
    else file.write(chunk);
  });
  about(output, () => file?.commit());
  if (output !== "-") complain(`export: ${output}: ${bytes} bytes, ${FORMATS[format]?.about}`);
  return isWhole ? 0 : 1;
}
