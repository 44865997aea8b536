/** Opens the input of a command that shows samples: a recording, or another tool's profile. */
import type { ByteSource } from "@perfdata/format/bytes";
import { type OpenOptions, openSource } from "@perfdata/format/files";
import { inputKind, type InputOfKind } from "@perfdata/perfdata/collect";

/** Opens a file, or standard input for `-`, and detects other tools' profiles. */
export async function openInput(
  name: string,
  options: OpenOptions = {},
): Promise<InputOfKind<ByteSource>> {
  return await inputKind(openSource(name, options));
}
