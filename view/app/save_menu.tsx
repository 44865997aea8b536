import { type JSX, useState } from "../ui/preact.ts";
import { save } from "../ui/download.ts";
import type { Store } from "../ui/store.ts";

const FORMATS = [
  ["folded", "folded stacks", "folded"],
  ["pprof", "pprof", "pb.gz"],
  ["speedscope", "speedscope", "speedscope.json"],
  ["svg", "picture (SVG flame graph)", "svg"],
] as const;

export function SaveMenu({ store }: { readonly store: Store }): JSX.Element | null {
  const { open, shown, state } = store;
  const [text, setText] = useState("");
  const facts = open?.facts;
  if (open === undefined || facts === undefined) return null;
  const made = async (format: string): Promise<readonly [string, Blob]> => {
    const known = FORMATS.find(([name]) => name === format);
    if (known !== undefined) {
      const [name, , end] = known;
      return [`${facts.title}.${end}`, await open.client.call("save", shown, name)];
    }
    const { pids, tids, cpus, from, to } = state;
    const at = (time: number) => `${BigInt(facts.start) + BigInt(Math.round(time))}`;
    // A sample has to match one of the two; a list of threads alone can express this.
    const chosen = pids === undefined || tids === undefined ? { pids, tids } : {
      tids: [
        ...new Set(
          facts.threads.filter(({ pid, tid }) => pids.includes(pid) || tids.includes(tid))
            .map(({ tid }) => tid),
        ),
      ],
    };
    const query = {
      ...chosen,
      cpus,
      from: from === undefined ? undefined : at(from),
      to: to === undefined ? undefined : at(to),
    };
    return [`slice-of-${facts.title}`, await open.client.call("slice", query)];
  };
  return (
    <span class="save">
      <select
        aria-label="Save what is selected"
        value=""
        onChange={async (event) => {
          const format = event.currentTarget.value;
          event.currentTarget.value = "";
          setText("Saving…");
          try {
            save(...await made(format));
            setText("");
          } catch (error) {
            setText((error as Error).message);
          }
        }}
      >
        <option value="" disabled hidden>Save…</option>
        {FORMATS.map(([name, title]) => <option key={name} value={name}>{title}</option>)}
        {(open.listed || open.live !== undefined) && (
          <option value="slice">recording (slice, all events)</option>
        )}
      </select>
      <span class="soft" role="status">{text}</span>
    </span>
  );
}
