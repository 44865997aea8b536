/** A thread that writes the tables of recordings: see `writeAllTables`. */
import { InputError } from "./_cli.ts";
import { type TablesAnswer, type TablesJob, type TablesProgress, writeTables } from "./_tables.ts";

const self = globalThis as unknown as {
  onmessage: (event: MessageEvent<TablesJob>) => void;
  postMessage(answer: TablesAnswer | TablesProgress): void;
};

self.onmessage = async ({ data }) => {
  let answer: TablesAnswer;
  try {
    answer = await writeTables(
      data,
      (bytes, more) => self.postMessage({ progress: [bytes, more] }),
    );
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    answer = { message: error.message };
  }
  self.postMessage(answer);
};
