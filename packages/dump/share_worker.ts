// Uses Deno's file API and standard output: dumps shares of a file (see parallel.ts).
import { PerfDataReader } from "@perfdata/format";
import { fileSource } from "@perfdata/format/file_source";
import { Dumper } from "./dump.ts";
import { type ShareAnswer, type ShareTask, writeAll } from "./share_task.ts";
import { StoppedError, Turns } from "./turns.ts";

const scope = globalThis as unknown as {
  onmessage: (event: { data: ShareTask }) => void;
  postMessage(message: ShareAnswer): void;
};

scope.onmessage = async ({ data }) => {
  const { path, fileSize, options, size, turns: shared } = data;
  const turns = new Turns(shared);
  try {
    using source = fileSource(path);
    // What is damaged is told by the thread that has the reader of the caller.
    const reader = await PerfDataReader.open({ ...source, size: fileSize }, {
      diagnostics: () => {},
    });
    const dumper = new Dumper(reader, { ...options, path, write: writeAll }, { size, turns });
    scope.postMessage({ kind: "part", part: await dumper.run() });
  } catch (error) {
    turns.stop();
    if (error instanceof StoppedError) {
      scope.postMessage({ kind: "stopped" });
    } else {
      scope.postMessage({
        kind: "error",
        message: error instanceof Error ? error.message : String(error),
        isBrokenPipe: error instanceof Deno.errors.BrokenPipe,
      });
    }
  }
};
