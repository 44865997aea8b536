import type { Members } from "./records_json.ts";

/** The columns of CSV: those that all records share, and all else as one JSON object. */
export const CSV_COLUMNS: readonly string[] = [
  "type",
  "offset",
  "event",
  "misc",
  "cpumode",
  "ip",
  "pid",
  "tid",
  "cpu",
  "time",
  "count",
  "period",
  "more",
];

/** A row: what has a column of its own, without the quotes of JSON; all else as an object. */
export function csvRow(members: Members): string[] {
  const known = new Map(members);
  const row = CSV_COLUMNS.slice(0, -1).map((column) => {
    const json = known.get(column);
    if (json === undefined || json === "null") return "";
    return json.startsWith('"') ? JSON.parse(json) as string : json;
  });
  const more = members.filter(([name]) => !CSV_COLUMNS.includes(name));
  row.push(
    more.length === 0 ? "" : `{${more.map(([name, json]) => `"${name}":${json}`).join(",")}}`,
  );
  return row;
}
