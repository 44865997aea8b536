/** Runs `tree`. */
import { callTree, nestedTree, shownTree, treeLines, treeRows } from "@perfdata/export/tree";
import { visible } from "@perfdata/format/bytes";
import { aboutAsync, complain, oneFile, parseWord, writeLine, writeOut } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { chosenEvent, readProfile } from "../shared/open_profile.ts";
import { parseNames } from "../shared/sample_flags.ts";
import { transformed } from "../shared/transformed.ts";
import { parseWeight } from "../shared/weight.ts";
import { writeTable } from "../shared/styled.ts";
import { parseCount, parsePercent } from "../shared/record_flags.ts";
import type { FLAGS } from "../tree.ts";

const ROOTS = ["command", "thread", "none"] as const;

/** The size of the terminal for the table; empty if standard output is not a terminal. */
function terminal(): { readonly lines?: number; readonly columns?: number } {
  if (!Deno.stdout.isTerminal()) return {};
  const { rows, columns } = Deno.consoleSize();
  // Leave four lines: the line before the table, the heading, the omitted rows, the prompt.
  return { lines: Math.max(5, rows - 4), columns };
}

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const json = on.json || on["json-tree"];
  const percent = parsePercent("percent-limit", value["percent-limit"]) ?? (json ? 0 : 0.5);
  const most = parseCount("lines", value.lines);
  const focus = value.focus === undefined ? undefined : parseNames("focus", value.focus);
  const upDown = on.callers || focus !== undefined;
  const root = value.root === undefined
    ? upDown ? "none" : "command"
    : parseWord("root", value.root, ROOTS);
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    const { profile: read, isWhole } = await readProfile("tree", name, flags, {
      weight: parseWeight(value.weight),
      itrace: value.itrace,
      debugInformation: !on["no-inline"] || on.srcline,
      threads: root === "thread",
    });
    // `--focus` is applied by the tree, which reports its number of samples.
    const all = transformed("tree", name, { on, value: { ...value, focus: undefined } }, read);
    const { profile, event } = chosenEvent("tree", name, { profile: all, wanted: value.event });
    const leastShare = percent / 100;
    const tree = callTree(profile, {
      event,
      root,
      focus,
      callers: on.callers,
      inline: !on["no-inline"],
      lines: on.srcline,
      leastShare,
    });
    const { totalSamples, otherSamples, totalPeriod } = tree;
    if (focus !== undefined && otherSamples === totalSamples) {
      complain(`tree: ${name}: no sample has a function ${value.focus} in its stack`);
      return 1;
    }
    if (json) {
      const rows = treeRows(tree, leastShare, on.callers);
      const about = { event: profile.events[event]?.name ?? "" };
      if (on.json) {
        for (const row of rows) writeOut(`${JSON.stringify({ ...about, ...row })}\n`);
      } else {
        const total = { samples: totalSamples, period: totalPeriod };
        writeOut(`${JSON.stringify({ ...about, ...total, children: nestedTree(rows) })}\n`);
      }
      return isWhole ? 0 : 1;
    }
    const screen = terminal();
    const options = {
      leastShare,
      callers: on.callers,
      fullNames: on["full-names"],
      ...screen,
      lines: most,
    };
    const inFocus = focus === undefined
      ? ""
      : `, ${totalSamples - otherSamples} with ${value.focus}`;
    const about = `${profile.events[event]?.name}: ${totalSamples} samples, period ${totalPeriod}`;
    writeLine(`${about}${inFocus}`);
    writeTable(treeLines(tree, options).map((line) => `${visible(line)}\n`).join(""));
    const { left, leftShare } = shownTree(tree, options);
    if (left > 0) {
      const share = (100 * leftShare).toFixed(2);
      writeLine(
        `${left} more ${
          left === 1 ? "function" : "functions"
        } of ${share}% or less: --percent-limit, --lines`,
      );
    }
    return isWhole ? 0 : 1;
  });
}
