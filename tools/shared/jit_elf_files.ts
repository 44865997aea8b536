/** `convert --jit`: writes ELF files for code of just-in-time compilers. */
import {
  findJitdumps,
  InjectJit,
  type JitInjection,
  jittedFiles,
  type NamedJitdump,
} from "@perfdata/edit/slice";
import type { PerfDataReader } from "@perfdata/format/records";
import { newFile } from "@perfdata/format/files";
import { SymbolsError } from "@perfdata/symbols/resolver";
import { openBinaryFile } from "@perfdata/symbols/files";
import { about, complain, InputError } from "./cli.ts";

/** Writes ELF files beside the jitdump files, and prints their location. */
export async function injectJit(
  tool: string,
  name: string,
  reader: PerfDataReader,
  force: boolean,
): Promise<InjectJit> {
  if (reader.fileSize === undefined) {
    throw new InputError("--jit: a stream can be read only once; write it to a file first");
  }
  const found = await findJitdumps(reader);
  const { files, timeConv, isMonotonic } = found;
  if (files.length === 0) {
    throw new InputError("--jit: no mapping of a jitdump file (jit-PID.dump)");
  }
  const injections = new Map<NamedJitdump, JitInjection[]>();
  let damaged = 0;
  for (const dump of files) {
    const injected: JitInjection[] = [];
    try {
      using source = about(dump.path, () => openBinaryFile(dump.path));
      for await (const { bytes, ...file } of jittedFiles(source, dump, found)) {
        if (!isMonotonic && timeConv === undefined) {
          throw new InputError(
            "--jit: its times are not those of the jitdump file; record with perf record -k mono",
          );
        }
        if (bytes !== undefined) writeWhole(file.path, bytes, force);
        const { ino, dev } = Deno.statSync(file.path);
        // Split the device number like glibc's gnu_dev_major and gnu_dev_minor.
        injected.push({
          ...file,
          ino: BigInt(ino ?? 0),
          maj: (dev >>> 8) & 0xfff,
          min: (dev & 0xff) | ((dev >>> 12) & 0xfff00),
        });
      }
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
      damaged++;
      complain(`${tool}: ${dump.path}: ${error.message}`);
    }
    if (injected.length > 0) injections.set(dump, injected);
    const code = new Set(injected.map(({ path }) => path)).size;
    const [first = ""] = injected.map(({ path }) => path);
    complain(
      `${tool}: ${name}: ${code} ELF files of ${dump.path}` +
        (code === 0 ? "" : `, as ${first.replace(/(?<!\d)\d+\.so$/, "N.so")}`),
    );
  }
  if (damaged === files.length) throw new InputError("--jit: no jitdump file can be read");
  return new InjectJit(reader, injections);
}

/** Writes a file, unless it already has the same bytes. */
function writeWhole(path: string, bytes: Uint8Array, force: boolean): void {
  if (isSame(path, bytes)) return;
  about(path, () => {
    using file = newFile(path, { force });
    file.write(bytes);
    file.commit();
  });
}

function isSame(path: string, bytes: Uint8Array): boolean {
  try {
    if (Deno.lstatSync(path).size !== bytes.length) return false;
    const found = Deno.readFileSync(path);
    return found.every((byte, i) => byte === bytes[i]);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
