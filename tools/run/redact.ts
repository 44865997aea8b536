/** Runs `redact`. */
import {
  copyRecording,
  Pseudonyms,
  Redact,
  type Redaction,
  REDACTIONS,
  TextSearch,
} from "@perfdata/edit";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import {
  about,
  aboutAsync,
  complain,
  Complaints,
  oneFile,
  parseWord,
  Progress,
  UsageError,
  writeLine,
} from "../shared/cli.ts";
import { writeRecording } from "../shared/edited_file.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import type { FLAGS } from "../redact.ts";

/** Remaining private texts that are listed; others are counted. */
const SHOWN = 10;

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const name = oneFile(operands);
  const what = value.only?.split(",").map((word): Redaction => parseWord("only", word, REDACTIONS));
  const keep = value.keep === undefined ? [] : [pattern(value.keep)];
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`redact: ${name}`);
    const source = openSource(name, { interruptible: true });
    const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
    const names = on.remove ? undefined : new Pseudonyms(keyOf(value["key-file"]));
    const edit = new Redact(reader, {
      ...(what === undefined ? {} : { what: new Set(what) }),
      names,
      keep,
    });
    const path = await writeRecording("redact", flags, async ({ output, path }) => {
      const progress = new Progress("redact", reader.fileSize);
      await copyRecording(reader, output, {
        edit,
        lostFeature: complaints.take,
        progress: progress.add,
      });
      progress.finish();
      return path;
    });
    complaints.finish();
    const { changed, originals, kept, undecoded } = edit.stats;
    const search = path === undefined
      ? undefined
      : searchIn(path, new TextSearch(originals, names?.tokens, kept));
    const found = [...search?.found ?? []];
    const say = path === undefined ? complain : writeLine;
    if (on.json) {
      const report = JSON.stringify({
        changed: Object.fromEntries(changed),
        texts: originals.size,
        left_out_undecoded: undecoded,
        searched: search !== undefined,
        not_searched_too_short: search?.tooShort.length ?? originals.size,
        found: Object.fromEntries(found),
      });
      say(report);
    } else {
      const counts = [...changed].map(([kind, count]) => `${count} ${kind}`).join(", ");
      say(`changed: ${counts || "nothing"}`);
      if (undecoded > 0) {
        say(`${undecoded} records that cannot be decoded are left out`);
      }
      for (const [text, count] of found.slice(0, SHOWN)) {
        say(`${JSON.stringify(text)} still occurs ${count}× in the output`);
      }
      say(
        search === undefined
          ? "the output is a pipe and was not searched for the original texts"
          : `${found.length} of ${originals.size} original texts still occur in the output` +
            (search.tooShort.length > 0 ? `, ${search.tooShort.length} too short to search` : "") +
            "; AUX data and addresses are not proved clean",
      );
    }
    if (found.length > 0) {
      complain(
        `redact: ${path}: ${found.length} of the texts that were taken out still occur, such as ` +
          JSON.stringify(found[0]?.[0]),
      );
    }
    return complaints.count > 0 || found.length > 0 ? 1 : 0;
  });
}

function pattern(text: string): RegExp {
  try {
    // deno-lint-ignore perfdata-expressions/backtracking -- the user's own
    return new RegExp(text);
  } catch {
    throw new UsageError(`--keep is ${text}, expected a regular expression`);
  }
}

function keyOf(file: string | undefined): Uint8Array {
  if (file === undefined) return crypto.getRandomValues(new Uint8Array(32));
  const key = about(file, () => Deno.readFileSync(file));
  if (key.length < 16) throw new UsageError(`${file}: ${key.length} bytes, a key has 16 or more`);
  return key;
}

/** Searches a written file for private texts that should not be in it. */
function searchIn(path: string, search: TextSearch): TextSearch {
  using file = Deno.openSync(path);
  const bytes = new Uint8Array(1 << 18);
  for (let n = file.readSync(bytes); n !== null; n = file.readSync(bytes)) {
    search.take(bytes.subarray(0, n));
  }
  return search;
}
