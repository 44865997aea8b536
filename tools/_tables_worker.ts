/** A thread that writes the tables of recordings: see `writeAllTables`. */
import { InputError } from "./_cli.ts";
import { type TablesAnswer, type TablesJob, writeTables } from "./_tables.ts";

const self = globalThis as unknown as {
  onmessage: (event: MessageEvent<TablesJob>) => void;
  postMessage(answer: TablesAnswer): void;
};

self.onmessage = async ({ data }) => {
  let answer: TablesAnswer;
  try {
    answer = await writeTables(data);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    answer = { message: error.message };
  }
  self.postMessage(answer);
};
