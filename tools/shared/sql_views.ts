/** The tables and views for queries of `sql`. */

/** Clauses that drop duplicate rows of several files by id, and prefer a row with a name. */
const ONCE: Readonly<Record<string, string>> = {
  frames:
    "QUALIFY row_number() OVER (PARTITION BY frame_id ORDER BY function IS NULL, verified IS NOT TRUE, object, function) = 1",
  stacks: "QUALIFY row_number() OVER (PARTITION BY stack_id ORDER BY depth) = 1",
};

/**
 * The statement that creates a view of a table's files.
 *
 * @param folder The directory of the tables.
 * @param files The number of files; rows of a single file are unique.
 */
export function tableView(folder: string, name: string, files: number): string {
  const once = files > 1 ? ONCE[name] ?? "" : "";
  const glob = quoted(`${folder}/${name}/**/*.parquet`);
  return `CREATE VIEW ${name} AS SELECT * FROM read_parquet(${glob}, hive_partitioning = true) ${once}`;
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Views that join tables: name, description, query. */
export const VIEWS: readonly (readonly [name: string, about: string, query: string])[] = [
  [
    "functions",
    "functions that were sampled: samples and periods of each, and its share of an event",
    `SELECT event, coalesce(function, '[unknown]') AS function, object, count(*) AS samples,
       sum(samples.period)::BIGINT AS period,
       round(100.0 * sum(samples.period) / sum(sum(samples.period)) OVER (PARTITION BY event), 2)
         AS percent
     FROM samples LEFT JOIN frames USING (frame_id)
     GROUP BY 1, 2, 3 ORDER BY 5 DESC, 2, 3`,
  ],
  [
    "callers",
    "functions that were sampled, and what called them",
    `SELECT event, coalesce(f.function, '[unknown]') AS function,
       coalesce(c.function, '[unknown]') AS caller, count(*) AS samples,
       sum(samples.period)::BIGINT AS period
     FROM samples
     JOIN stacks s USING (stack_id) JOIN stacks p ON p.stack_id = s.parent_id
     LEFT JOIN frames f ON f.frame_id = s.frame_id LEFT JOIN frames c ON c.frame_id = p.frame_id
     GROUP BY 1, 2, 3 ORDER BY 5 DESC, 2, 3`,
  ],
  [
    "offcpu",
    "how long threads waited, by where: of perf record --off-cpu",
    `SELECT comm, coalesce(function, '[unknown]') AS function, count(*) AS waits,
       sum(off_cpu_ns)::BIGINT AS ns
     FROM samples LEFT JOIN frames USING (frame_id) WHERE off_cpu_ns IS NOT NULL
     GROUP BY 1, 2 ORDER BY 4 DESC, 1, 2`,
  ],
  [
    "by_second",
    "samples and periods of each second after the first sample of a recording",
    `SELECT recording_id, event, ((ts - first_ts) // 1000000000)::BIGINT AS second,
       count(*) AS samples, sum(samples.period)::BIGINT AS period
     FROM samples JOIN recordings USING (recording_id) WHERE ts IS NOT NULL
     GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  ],
];
