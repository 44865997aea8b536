import { floatAt, intAt } from "@perfdata/format/bytes";
import { eventLabel } from "@perfdata/profile";
import { adviceOfTrust } from "@perfdata/report/figures";
import { nameOf, objectOf, type ViewProps } from "../ui/context.ts";
import type { ProfileFacts } from "../data/view_engine.ts";
import { duration as timeText, grouped, percent } from "../ui/format.ts";
import type { JSX } from "../ui/preact.ts";
import type { IndexAnswer } from "../recording/recording_service.ts";
import { CountsCard } from "./counts.tsx";
import { Name } from "../ui/name.tsx";
import { useQuery } from "../ui/use_query.ts";

/** Number of functions in the list. */
const TOP = 12;

/** Returns the properties of a profile without its recording, as of a pipe or a flame graph. */
function linesOf(
  { title, events, totals, threads, cpus, duration }: ProfileFacts,
): readonly (readonly [string, string])[] {
  const processes = new Set(threads.map(({ pid }) => pid)).size;
  const sampled = new Set(cpus.flat()).size;
  return [
    ["title", title],
    ...events.map((event, number): readonly [string, string] => [
      "event",
      `${eventLabel(event)}: ${grouped(totals[number]?.samples ?? 0)} samples`,
    ]),
    ["threads", `${grouped(threads.length)} of ${grouped(processes)} processes`],
    ...sampled === 0 ? [] : [["CPUs", grouped(sampled)] as const],
    ...duration === 0 ? [] : [["time", timeText(duration)] as const],
  ];
}

/** Returns lines from the index, until `info` has more. */
function indexLines({ start, duration, blocks }: IndexAnswer): [string, string][] {
  const samples = blocks.samples.reduce((sum, count) => sum + count, 0);
  return [
    ...start === undefined ? [] : [["time", timeText(duration)]] as [string, string][],
    ["samples", grouped(samples)],
  ];
}

/** The overview: lines of `info`, reliability of the profile, and advice. */
export function OverviewView(props: ViewProps): JSX.Element {
  return (
    <section class="overview" aria-label="Overview">
      <div class="cards">
        <RecordingCard {...props} />
        <CountsCard {...props} />
        <TrustCard {...props} />
        <TopCard {...props} />
        <RecordsCard {...props} />
      </div>
    </section>
  );
}

function RecordingCard({ open }: ViewProps): JSX.Element {
  const { info, head, facts, index, failed } = open;
  const known = info?.lines ?? head;
  const lines = known.length > 0
    ? [
      ...known.map((line) => [line.slice(0, 10).trim(), line.slice(10)] as const),
      ...info === undefined && index !== undefined ? indexLines(index) : [],
    ]
    : facts === undefined || index !== undefined
    ? []
    : linesOf(facts);
  return (
    <div class="card about">
      <h2>Recording</h2>
      {lines.length === 0 && failed === undefined && <p class="soft">Reading…</p>}
      <dl>
        {lines.map(([name, text], i) => (
          <div key={i}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** Reliability of the profile, and advice. */
function TrustCard({ open: { info, facts, failed } }: ViewProps): JSX.Element {
  const advice = [...info?.advice ?? [], ...facts === undefined ? [] : adviceOfTrust(facts.trust)];
  return (
    <div class="card">
      <h2>Trust</h2>
      {facts !== undefined && (
        <ul class="plain">
          {facts.trust.split("; ").map((part) => <li key={part}>{part}</li>)}
        </ul>
      )}
      {facts === undefined && failed === undefined && <p class="soft">Samples are being read.</p>}
      {failed !== undefined && <p class="wrong">{failed}</p>}
      {advice.length > 0 && <h3>What would help</h3>}
      <ul class="advice">
        {advice.map(({ what, remedy }) => (
          <li key={what}>
            {what}
            <code>{remedy}</code>
          </li>
        ))}
      </ul>
      {(info?.damage.length ?? 0) > 0 && (
        <details>
          <summary>Damage</summary>
          <ul class="plain">
            {info?.damage.map((fault) => <li key={fault}>{fault}</li>)}
          </ul>
        </details>
      )}
    </div>
  );
}

function TopCard({ store, open }: ViewProps): JSX.Element | null {
  const { facts } = open;
  const { shown } = store;
  const { value } = useQuery(
    facts === undefined ? undefined : JSON.stringify(shown),
    () => open.client.call("table", shown),
  );
  if (value === undefined || facts === undefined) return null;
  const top = [...value.item.keys()]
    .sort((a, b) => floatAt(value.self, b) - floatAt(value.self, a))
    .slice(0, TOP).filter((row) => floatAt(value.self, row) > 0);
  if (top.length === 0) return null;
  return (
    <div class="card">
      <h2>Where time is spent</h2>
      <ol class="top">
        {top.map((row) => {
          const fn = intAt(value.item, row);
          return (
            <li key={row}>
              <span class="number">{percent(floatAt(value.self, row), value.sum)}</span>
              <button
                type="button"
                class="link"
                title={nameOf(facts, fn)}
                onClick={() => store.set({ view: "sandwich", fn: nameOf(facts, fn) })}
              >
                <Name text={nameOf(facts, fn)} search={store.state.search} />
              </button>
              <span class="soft">{objectOf(facts, fn)}</span>
            </li>
          );
        })}
      </ol>
      <button type="button" onClick={() => store.set({ view: "functions" })}>
        All functions
      </button>
    </div>
  );
}

function RecordsCard({ store, open }: ViewProps): JSX.Element | null {
  const { index, listed } = open;
  if (index === undefined) return null;
  const link = (name: string) => (
    <button
      type="button"
      class="link"
      onClick={() => store.set({ view: "records", types: [name], record: -1 })}
    >
      {name}
    </button>
  );
  return (
    <div class="card">
      <h2>Records</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col" class="number">Records</th>
          </tr>
        </thead>
        <tbody>
          {index.types.map(({ name, count }) => (
            <tr key={name}>
              <td>{listed ? link(name) : name}</td>
              <td class="number">{grouped(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
