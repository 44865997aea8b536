/**
 * Prints the tests that failed in a first run and passed in a second one, with the date at which
 * they were recorded in tests/flaky.tsv. A test that is not recorded there, or was recorded more
 * than 30 days ago, still counts as failed.
 *
 * usage: deno run --allow-read tests/checks/flaky.ts FIRST_LOG SECOND_LOG
 *
 * The last line of the output is the number of tests that still count as failed.
 */
const DAYS = 30;
const LIST = new URL("../flaky.tsv", import.meta.url);

/** Failed tests of a log of `deno test`: `./file: name` of each line in the section FAILURES. */
export function failures(log: string): Set<string> {
  const section = /^\s*FAILURES\s*$([\s\S]*?)^(?:ok|FAILED) \|/m.exec(log)?.[1] ?? "";
  return new Set(
    [...section.matchAll(/^(.+) => (\.\/[^:#\s]+)/gm)].map(([, name, file]) => `${file}: ${name}`),
  );
}

/** Dates by test from tests/flaky.tsv, whose lines are date, file and name, separated by tabs. */
export function recorded(list: string): Map<string, string> {
  return new Map(
    list.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
      const [date = "", file = "", name = ""] = line.split("\t");
      return [`./${file}: ${name}`, date];
    }),
  );
}

/** Tests that failed first and not again, with whether their record is recent enough. */
export function flaky(
  first: string,
  second: string,
  list: string,
  now: number,
): { test: string; date: string | undefined; excused: boolean }[] {
  const again = failures(second);
  const dates = recorded(list);
  return [...failures(first)].filter((test) => !again.has(test)).map((test) => {
    const date = dates.get(test);
    const age = date === undefined ? Infinity : (now - Date.parse(date)) / 86_400_000;
    return { test, date, excused: age <= DAYS };
  });
}

if (import.meta.main) {
  const [first = "", second = ""] = Deno.args.map((path) => Deno.readTextFileSync(path));
  const found = flaky(first, second, Deno.readTextFileSync(LIST), Date.now());
  for (const { test, date, excused } of found) {
    console.log(
      excused
        ? `flaky, recorded on ${date}: ${test}`
        : `flaky, and counted as failed since tests/flaky.tsv has no entry of the last ${DAYS} days: ${test}`,
    );
  }
  console.log(found.filter(({ excused }) => !excused).length);
}
