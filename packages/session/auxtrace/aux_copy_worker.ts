// Uses Deno's file API: copies AUX data in a thread of its own (see aux_file_copy.ts).
import { copyShares, type CopyTask } from "./aux_shares.ts";

const scope = globalThis as unknown as {
  onmessage: (event: { data: CopyTask }) => void;
  /** What went wrong; nothing if all went well. */
  postMessage(error: string): void;
};

scope.onmessage = ({ data }) => {
  try {
    copyShares(data, "last to first");
    scope.postMessage("");
  } catch (error) {
    scope.postMessage(error instanceof Error ? error.message : String(error));
  }
};
