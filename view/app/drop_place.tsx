import { type JSX, useEffect, useState } from "../ui/preact.ts";
import type { Store } from "../ui/store.ts";

/** Opens files that are dropped on the page; returns whether files are held over it. */
export function useDrop(store: Store, takesFiles: boolean): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    if (!takesFiles) return;
    const over = (event: DragEvent) => {
      event.preventDefault();
      setOver(event.type === "dragover");
    };
    const dropped = (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      droppedFiles(event).then(
        (files) => store.openFiles(files),
        (error: Error) =>
          store.fail(`The files that were dropped cannot be read: ${error.message}`),
      );
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", over);
    addEventListener("drop", dropped);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", over);
      removeEventListener("drop", dropped);
    };
  }, [takesFiles]);
  return isOver;
}

export function FileChoice(
  { store, text = "Choose files" }: { readonly store: Store; readonly text?: string },
): JSX.Element {
  return (
    <label class="button">
      {text}
      <input
        type="file"
        multiple
        onChange={(event) => {
          const input = event.currentTarget;
          store.openFiles([...input.files ?? []]);
          // Otherwise, the same files could not be chosen again.
          input.value = "";
        }}
      />
    </label>
  );
}

/** The place for dropping or choosing files when no recording is open. */
export function DropPlace(
  { store, takesFiles }: { readonly store: Store; readonly takesFiles: boolean },
): JSX.Element {
  if (store.opening) return <p class="empty" role="status">Opening…</p>;
  return (
    <div class="drop">
      {takesFiles
        ? (
          <>
            <p class="large">Drop a perf.data here</p>
            <p>
              and with it, if you have them, what names its functions: programs, debug files, a
              symbol bundle, perf-PID.map; or a second recording to compare with. Nothing leaves
              this page: it may not use the network.
            </p>
            <FileChoice store={store} />
          </>
        )
        : <p class="large">Nothing is open.</p>}
    </div>
  );
}

/** Maximum depth of folders that are searched. */
const MOST_LEVELS = 4;

/** Method of newer browsers to get a folder whose files can be read even if the page was opened from disk. */
interface FolderItem {
  readonly getAsFileSystemHandle?: () => Promise<FileSystemHandle | null>;
}

/** A folder and its contents, which Deno's types lack. */
interface FolderHandle extends FileSystemHandle {
  readonly values: () => AsyncIterable<FileSystemHandle>;
}

/** Returns the dropped files, including those in folders. */
async function droppedFiles({ dataTransfer }: DragEvent): Promise<File[]> {
  // Items are gone after the event, so all are requested before the first wait.
  const found = [...dataTransfer?.items ?? []].map((item) => {
    const entry = item.webkitGetAsEntry();
    // On a page opened from disk, the entry of a file cannot be read, but the file itself can.
    if (entry?.isDirectory !== true) return item.getAsFile() ?? [];
    const handle = (item as FolderItem).getAsFileSystemHandle?.();
    return handle === undefined
      ? filesOfEntry(entry, 0)
      : handle.then((folder) => folder === null ? [] : filesOfHandle(folder, 0));
  });
  return (await Promise.all(found)).flat();
}

async function filesOfHandle(handle: FileSystemHandle, level: number): Promise<File[]> {
  if (handle.kind === "file") return [await (handle as FileSystemFileHandle).getFile()];
  const files: File[] = [];
  if (level >= MOST_LEVELS) return files;
  for await (const below of (handle as FolderHandle).values()) {
    files.push(...await filesOfHandle(below, level + 1));
  }
  return files;
}

async function filesOfEntry(entry: FileSystemEntry, level: number): Promise<File[]> {
  if (entry.isFile) {
    const { promise, resolve, reject } = Promise.withResolvers<File>();
    (entry as FileSystemFileEntry).file(resolve, reject);
    return [await promise];
  }
  const files: File[] = [];
  if (level >= MOST_LEVELS) return files;
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const { promise, resolve, reject } = Promise.withResolvers<FileSystemEntry[]>();
    reader.readEntries(resolve, reject);
    const some = await promise;
    if (some.length === 0) return files;
    for (const below of some) files.push(...await filesOfEntry(below, level + 1));
  }
}
