import { intAt } from "@perfdata/format/bytes";
import type { RecordDetail } from "../recording/record_list.ts";
import { grouped } from "../ui/format.ts";
import { Grid } from "../ui/grid.tsx";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { VirtualList } from "../ui/virtual_list.tsx";

/** Number of bytes in a line. */
const WIDE = 16;

const COLUMNS = [
  { title: "Field", class: "name" },
  { title: "Value", class: "value" },
  { title: "Type", class: "kind" },
];

/** The fields of a record next to its bytes. A field marked on one side is marked on the other. */
export function RecordBytes(
  { detail, close }: { readonly detail: RecordDetail; readonly close: () => void },
): JSX.Element {
  const { row, bytes, fields } = detail;
  const [hover, setHover] = useState(-1);
  const [chosen, setChosen] = useState(-1);
  const [scrolled, setScrolled] = useState({ field: -1, line: -1 });
  const marked = hover >= 0 ? hover : chosen;
  const fieldOf = useMemo(() => {
    const of = new Int32Array(bytes.length).fill(-1);
    for (const [number, { offset, size }] of fields.entries()) {
      of.fill(number, Math.max(0, offset), Math.max(0, offset + size));
    }
    return of;
  }, [detail]);
  const overField = (number: number) => {
    setHover(number);
    setScrolled({ field: -1, line: Math.floor((fields[number]?.offset ?? 0) / WIDE) });
  };
  const overByte = (event: MouseEvent) => {
    const at = (event.target as HTMLElement).dataset["at"];
    if (at === undefined) return;
    const number = fieldOf[Number(at)] as number;
    setHover(number);
    setScrolled({ field: number, line: -1 });
  };
  const choose = (number: number) => {
    setChosen(number);
    setHover(-1);
    setScrolled({ field: number, line: Math.floor((fields[number]?.offset ?? 0) / WIDE) });
  };
  const field = fields[marked];
  return (
    <div class="detail">
      <div class="bar">
        <RecordTitle {...row} />
        <span class="space" />
        <button type="button" aria-label="Close the record" onClick={close}>×</button>
      </div>
      <div class="detail-parts" onMouseLeave={() => setHover(-1)}>
        <Grid
          id="field"
          class="fields"
          label="Fields"
          columns={COLUMNS}
          count={fields.length}
          height={21}
          at={chosen}
          chosen={scrolled.field}
          choose={choose}
          line={(number) => {
            const field = fields[number] as typeof fields[number];
            const { problems } = field;
            return {
              class: `tint-${number % 2}${number === marked ? " marked" : ""}${
                problems.length > 0 ? " problem" : ""
              }`,
              title: problems.join("\n"),
              onMouseEnter: () => overField(number),
              cells: <FieldCells field={field} bytes={bytes} />,
            };
          }}
        />
        <div class="hex" role="group" aria-label="Bytes" onMouseOver={overByte}>
          <VirtualList
            tabIndex={0}
            role="region"
            aria-label="Bytes of the record"
            count={Math.ceil(bytes.length / WIDE)}
            height={20}
            chosen={scrolled.line}
            onClick={(event) => {
              const at = (event.target as HTMLElement).dataset["at"];
              if (at !== undefined) choose(fieldOf[Number(at)] as number);
            }}
            render={(line) => (
              <HexLine
                line={line}
                bytes={bytes}
                offset={row.offset}
                from={field?.offset ?? -1}
                to={field === undefined ? -1 : field.offset + field.size}
                fieldOf={fieldOf}
              />
            )}
          />
        </div>
      </div>
      <p class="foot" aria-live="polite">
        {field === undefined
          ? <span class="soft">Point at a field or at a byte: both are marked.</span>
          : <FieldFacts field={field} row={row} />}
      </p>
    </div>
  );
}

function FieldCells(
  { field, bytes }: {
    readonly field: RecordDetail["fields"][number];
    readonly bytes: Uint8Array;
  },
): JSX.Element {
  const { field: name, value, type } = field;
  return (
    <>
      <div class="name" role="gridcell">{name.replace(/^\./, "")}</div>
      <div class="value number" role="gridcell">{value ?? shortBytes(bytes, field)}</div>
      <div class="kind soft" role="gridcell">{type}</div>
    </>
  );
}

function RecordTitle({ number, type, size, offset, event }: RecordDetail["row"]): JSX.Element {
  return (
    <>
      <strong>{type}</strong>
      <span class="soft">
        record {grouped(number)}, {grouped(size)} bytes at offset 0x{offset.toString(16)}
        {event === "" ? "" : `, ${event}`}
      </span>
    </>
  );
}

function FieldFacts(
  { field, row }: {
    readonly field: RecordDetail["fields"][number];
    readonly row: RecordDetail["row"];
  },
): JSX.Element {
  return (
    <>
      <strong>{field.field.replace(/^\./, "") || row.type}</strong>{" "}
      <span class="soft">
        {field.type}, {field.size} {field.size === 1 ? "byte" : "bytes"} at +{field.offset}
      </span>{" "}
      {field.value ?? ""}
      {field.problems.map((problem) => <em key={problem} class="wrong">{problem}</em>)}
    </>
  );
}

function HexLine(
  { line, bytes, offset, from, to, fieldOf }: {
    readonly line: number;
    readonly bytes: Uint8Array;
    readonly offset: number;
    readonly from: number;
    readonly to: number;
    readonly fieldOf: Int32Array;
  },
): JSX.Element {
  const start = line * WIDE;
  const part = [...bytes.subarray(start, start + WIDE)];
  const name = (i: number) => {
    const at = start + i;
    return `tint-${intAt(fieldOf, at) & 1}${at >= from && at < to ? " marked" : ""}`;
  };
  return (
    <div class="hex-line">
      <span class="soft hex-offset">{(offset + start).toString(16).padStart(8, "0")}</span>
      <span class="hex-bytes">
        {part.map((byte, i) => (
          <span key={i} class={name(i)} data-at={start + i}>
            {byte.toString(16).padStart(2, "0")}
          </span>
        ))}
      </span>
      <span class="hex-text" aria-hidden="true">
        {part.map((byte, i) => (
          <span key={i} class={name(i)} data-at={start + i}>
            {byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "."}
          </span>
        ))}
      </span>
    </div>
  );
}

/** Formats the first bytes of a field without a value. */
function shortBytes(
  bytes: Uint8Array,
  { offset, size }: { readonly offset: number; readonly size: number },
): string {
  const some = [...bytes.subarray(offset, offset + Math.min(size, 8))];
  const text = some.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return size > 8 ? `${text} …` : text;
}
