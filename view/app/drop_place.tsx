import { type JSX, useEffect, useState } from "../ui/preact.ts";
import type { Store } from "../ui/store.ts";

/** Opens what is dropped on the page; says whether files are held over it. */
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
      droppedFiles(event).then((files) => store.openFiles(files));
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

/** A button that chooses files. */
export function FileChoice({ store }: { readonly store: Store }): JSX.Element {
  return (
    <label class="button">
      Choose files
      <input
        type="file"
        multiple
        onChange={(event) => {
          const input = event.currentTarget;
          store.openFiles([...input.files ?? []]);
          // The same ones can be chosen again.
          input.value = "";
        }}
      />
    </label>
  );
}

/** Where nothing is open: files are dropped or chosen, if this page can open them. */
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

/** The files of a drop, those in folders as well. */
async function droppedFiles(event: DragEvent): Promise<File[]> {
  const entries = [...event.dataTransfer?.items ?? []].map((item) => item.webkitGetAsEntry());
  if (entries.length === 0 || entries.includes(null)) return [...event.dataTransfer?.files ?? []];
  const files: File[] = [];
  const visit = async (entry: FileSystemEntry, depth: number): Promise<void> => {
    if (entry.isFile) {
      files.push(
        await new Promise<File>((resolve, reject) =>
          (entry as FileSystemFileEntry).file(resolve, reject)
        ),
      );
    } else if (depth < 4) {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      for (;;) {
        const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
          reader.readEntries(resolve, reject)
        );
        if (some.length === 0) break;
        for (const one of some) await visit(one, depth + 1);
      }
    }
  };
  for (const entry of entries) if (entry !== null) await visit(entry, 0);
  return files;
}
