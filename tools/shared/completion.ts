/** Shell completion scripts, generated from the tables of commands and flags. */
import { quoted } from "./cli.ts";
import type { Command } from "./command.ts";
import { filled, type FlagRow, flagRows } from "./flag_table.ts";

/** Shells with completion scripts. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** A command for completion. */
export interface Completed {
  readonly name: string;
  /** A description in one line. */
  readonly about: string;
  /** Imports the command, for its subcommands and flags. */
  load?(): Promise<{ readonly tool: Command }>;
}

interface Row {
  readonly entry: Completed;
  readonly words: readonly string[];
  readonly flags: readonly FlagRow[];
}

/**
 * Generates the completion script of `perfdata` for a shell.
 *
 * @param shell The shell.
 * @param entries The commands.
 */
export async function completionScript(
  shell: typeof SHELLS[number],
  entries: readonly Completed[],
): Promise<string> {
  const rows: Row[] = [];
  for (const entry of entries) {
    const tool = (await entry.load?.())?.tool;
    const words = entry.name === "help" || entry.name === "man"
      ? entries.map(({ name }) => name)
      : entry.name === "completion"
      ? SHELLS
      : tool?.verbs ?? [];
    const flags = flagRows(tool?.flags ?? {});
    rows.push({ entry, words, flags: flags.map((row) => ({ ...row, about: brief(row.about) })) });
  }
  return shell === "bash" ? bash(rows) : shell === "zsh" ? zsh(rows) : fish(rows);
}

/** The description of a flag in a menu: the part before its list of words or its default. */
const brief = (about: string): string => filled(about.replace(/(;|,? \(|: ).*/, ""), 75)[0] ?? "";

const names = (rows: readonly Row[]): string => rows.map(({ entry }) => entry.name).join(" ");

function bash(rows: readonly Row[]): string {
  const cases = rows.map(({ entry, words, flags }) =>
    `    ${entry.name}) words=${quoted(words.join(" "))} flags=${
      quoted(flags.map(({ flag }) => `--${flag}`).join(" "))
    } ;;`
  );
  return `# Completion of perfdata for bash: eval "$(perfdata completion bash)"
_perfdata() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" words= flags=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${names(rows)} --help --version' -- "$cur"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac
  if [ "\${cur#-}" != "$cur" ]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [ -n "$words" ] && [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o default -o bashdefault -F _perfdata perfdata
`;
}

function zsh(rows: readonly Row[]): string {
  // Brackets and colons are special in descriptions of zsh's `_arguments`.
  const plain = (text: string): string => text.replace(/[[\]:\\]/g, "\\$&");
  const commands = rows.map(({ entry }) => `    ${quoted(`${entry.name}:${plain(entry.about)}`)}`);
  const cases = rows.map(({ entry, words, flags }) => {
    const specs = flags.flatMap(({ short, flag, value, about }) => {
      const tail = `[${plain(about)}]${value === undefined ? "" : `:${plain(value)}:_files`}`;
      const specs = [`--${flag}${value === undefined ? "" : "="}${tail}`];
      if (short !== undefined) specs.push(`-${short}${tail}`);
      return specs;
    });
    if (words.length > 0) specs.push(`1:word:(${words.join(" ")})`);
    specs.push("*:file:_files");
    return `      ${entry.name}) _arguments ${specs.map(quoted).join(" ")} ;;`;
  });
  return `#compdef perfdata
# Completion of perfdata for zsh: eval "$(perfdata completion zsh)", after compinit
_perfdata() {
  local -a commands
  commands=(
${commands.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _files
    _arguments '--help[print help]' '--version[print the version]'
  else
    local name=$words[2]
    shift words
    (( CURRENT-- ))
    case $name in
${cases.join("\n")}
    esac
  fi
}
compdef _perfdata perfdata
`;
}

function fish(rows: readonly Row[]): string {
  const text = (about: string): string => `'${about.replace(/['\\]/g, "\\$&")}'`;
  const lines = [
    "# Completion of perfdata for fish: perfdata completion fish | source",
    "complete -c perfdata -n __fish_use_subcommand -l help -s h -d 'Print help'",
    "complete -c perfdata -n __fish_use_subcommand -l version -d 'Print the version'",
  ];
  for (const { entry, words, flags } of rows) {
    const { name, about } = entry;
    const within = `complete -c perfdata -n '__fish_seen_subcommand_from ${name}'`;
    lines.push(`complete -c perfdata -n __fish_use_subcommand -a ${name} -d ${text(about)}`);
    if (words.length > 0) lines.push(`${within} -a '${words.join(" ")}'`);
    for (const { short, flag, value, about } of flags) {
      const letter = short === undefined ? "" : ` -s ${short}`;
      const argument = value === undefined ? "" : " -r";
      lines.push(`${within} -l ${flag}${letter}${argument} -d ${text(about)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
