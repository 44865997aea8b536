import { assert, assertEquals, assertThrows } from "@std/assert";
import { KERNEL_RECORDS, MMAP2, NAMESPACES } from "../records/mod.ts";
import { emptyAttr } from "../header/attr.ts";
import { PerfEvent } from "../header/events.ts";
import { ByteReader, type Trace } from "../struct/cursor.ts";
import { PerfDataError } from "../error.ts";
import type { AnyDeclaration } from "../records/record_codec.ts";
import { readLayout } from "../sample/sample_layout.ts";
import { readFormat } from "../sample/sample.ts";
import { SampleWalk } from "../sample/sample_walk.ts";
import {
  choice,
  type Codec,
  counter,
  decode,
  encode,
  layoutOf,
  NO_SCOPE,
  prefixSize,
  struct,
  u16,
  u32,
  u64,
  u8,
  when,
} from "../struct/mod.ts";

/** Records the positions of the outermost structure's fields. */
class Places implements Trace {
  readonly found = new Map<string, { from: number; to: number }>();
  readonly #open: { name: string; from: number }[] = [];

  begin(name: string, _codec: Codec<unknown>, offset: number): void {
    this.#open.push({ name, from: offset });
  }

  end(offset: number): void {
    const { name, from } = this.#open.pop() as { name: string; from: number };
    if (this.#open.length === 0) this.found.set(name, { from, to: offset });
  }
}

Deno.test("layoutOf: offsets of each record's fields equal the decoded positions", () => {
  const attr = { ...emptyAttr(), sample_type: 0x1ffn, read_format: 0x7n };
  const event = new PerfEvent(attr, []);
  let compared = 0;
  for (const declared of KERNEL_RECORDS as readonly AnyDeclaration[]) {
    if (declared.name === "SAMPLE") continue;
    const layout: Readonly<Record<string, number>> = layoutOf(declared);
    for (const misc of [0, 0x4000]) {
      const trace = new Places();
      const r = new ByteReader(new Uint8Array(200), { context: { misc, event }, trace });
      r.pos = 8;
      declared.body.decode(r, NO_SCOPE);
      for (const [name, { from, to }] of trace.found) {
        // A field without bytes is absent.
        if (from === to || layout[name] === -1) continue;
        assertEquals(layout[name], from, `${declared.name}.${name}`);
        compared++;
      }
    }
    assert(prefixSize(declared) >= 8);
  }
  assert(compared > 100, `${compared} fields compared`);
});

Deno.test("layoutOf: offsets of MMAP2 and NAMESPACES equal perf_event.h", () => {
  assertEquals(layoutOf(MMAP2).filename, 72);
  assertEquals(prefixSize(MMAP2), 72);
  assertEquals(layoutOf(NAMESPACES)["nr_namespaces"], 16);
  assertEquals(layoutOf(NAMESPACES).link_info, 24);
});

Deno.test("layoutOf: a field that a conditional one may move has offset -1, unless both cases have one size", () => {
  const moved = struct("r", { a: u8, b: when({ field: "a", is: 1 }, u32), c: u8 });
  assertEquals({ ...layoutOf(moved) }, { a: 0, b: 1, c: -1 });
  const either = struct("r", {
    a: u8,
    b: when({ field: "a", bits: 2 }, u32),
    c: when({ field: "a", noBits: 2 }, u16),
    d: when({ field: "a", noBits: 2 }, u16),
    e: u8,
  });
  assertEquals({ ...layoutOf(either) }, { a: 0, b: 1, c: 1, d: 3, e: 5 });
  assertEquals(prefixSize(either), 6);
});

Deno.test("readLayout: offsets for all read formats equal the decoded positions", () => {
  for (let format = 0; format < 32; format++) {
    const { group, head, entry, id, lost, time_enabled, time_running } = readLayout(format);
    const view = new DataView(new ArrayBuffer(200));
    for (let i = 0; i < 25; i++) view.setBigUint64(8 * i, BigInt(100 + i), true);
    if (group) view.setBigUint64(0, 2n, true);
    const { value, tail } = decode(readFormat(format), new Uint8Array(view.buffer));
    const at = (offset: number) => offset < 0 ? undefined : view.getBigUint64(offset, true);
    assertEquals(value.values.length, group ? 2 : 1);
    value.values.forEach((each, i) => {
      const start = head + i * entry;
      assertEquals(each.value, at(start), `format ${format}`);
      assertEquals(each.id, id < 0 ? undefined : at(start + id));
      assertEquals(each.lost, lost < 0 ? undefined : at(start + lost));
    });
    assertEquals(value.time_enabled, at(time_enabled));
    assertEquals(value.time_running, at(time_running));
    assertEquals(head + value.values.length * entry, 200 - (tail?.length ?? 0));
  }
});

Deno.test("when: a path can name a field of the enclosing structure", () => {
  const inner = struct("inner", { extra: when({ field: "../kind", least: 2 }, u8), end: u8 });
  const outer = struct("outer", { kind: u8, inner });
  assertEquals(decode(outer, Uint8Array.of(1, 7)).value, { kind: 1, inner: { end: 7 } });
  const bytes = Uint8Array.of(2, 7, 8);
  assertEquals(decode(outer, bytes).value, { kind: 2, inner: { extra: 7, end: 8 } });
  assertEquals(encode(outer, { kind: 2, inner: { extra: 7, end: 8 } }), bytes);
});

Deno.test("choice: a value that is not in the table is an error", () => {
  const record = struct("r", { kind: u8, value: choice("number", "kind", { 1: u8, 8: u64 }) });
  assertThrows(
    () => decode(record, Uint8Array.of(3, 0)),
    PerfDataError,
    "number: kind is 3, expected 1 or 8",
  );
  assertThrows(() => encode(record, { kind: 3, value: 0 }), RangeError, "kind is 3");
});

Deno.test("counter: its shape names the counted field; slot: an unknown field throws", () => {
  const { shape } = counter(u32, "ips");
  assertEquals(shape, { kind: "counter", of: "ips" });
  assertThrows(() => SampleWalk.slot("nothing"), RangeError, "samples have no field nothing");
});
