import { intAt } from "@perfdata/format/bytes";
import { ADDRESS_USE, type Engine, lookUpPlaces, PlaceUses, ShownNames } from "@perfdata/session";
import type { Resolution, ResolvedFrame, SymbolObject } from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";
import { ContentHash, SEED } from "../ids/content_ids.ts";
import type { PlaceIds } from "../ids/place_ids.ts";
import type { RowSink } from "../schema/column_types.ts";
import { allRows, IntegerColumn, textValues, WordColumn } from "../schema/growing.ts";

const GROUP = 1 << 18;

/** A frame, or a function inlined in it. */
interface Row {
  readonly lo: number;
  readonly hi: number;
  readonly offsetLo: number;
  readonly offsetHi: number;
  /** The object; `undefined` if nothing was mapped at the address. */
  readonly object: SymbolObject | undefined;
  readonly name?: string | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly verified?: boolean | undefined;
  /** For inlined functions: the depth of inlining, and the id of the enclosing frame or function. */
  readonly inlineDepth?: number | undefined;
  readonly inlineOf?: readonly [lo: number, hi: number] | undefined;
}

/** Collects rows of frames and writes them in groups. */
export class FrameRows {
  /** Number of rows written. */
  count: number = 0;
  readonly #sink: RowSink;
  readonly #names: ShownNames;
  readonly #id = new WordColumn();
  readonly #offset = new WordColumn();
  readonly #inlineOf = new WordColumn();
  readonly #depth = new IntegerColumn();
  readonly #line = new IntegerColumn();
  readonly #verified = new IntegerColumn();
  #buildId: (string | undefined)[] = [];
  #object: (string | undefined)[] = [];
  #kind: (string | undefined)[] = [];
  #name: (string | undefined)[] = [];
  #file: (string | undefined)[] = [];
  readonly #hash = new ContentHash();

  /** Creates a collector that writes to a table. */
  constructor(to: RowSink, names: ShownNames) {
    this.#sink = to;
    this.#names = names;
  }

  /** Adds a frame and the functions inlined at its address. */
  add(row: Row, found?: Resolution, verified?: boolean): void {
    const frames = found?.frames ?? [];
    const last = frames.length - 1;
    const outer = frames[last];
    this.#put(
      outer === undefined
        ? row
        : { ...row, ...named({ ...outer, name: this.#names.named(found) ?? "??" }), verified },
    );
    for (let i = last - 1; i >= 0; i--) {
      const inlineDepth = last - i;
      this.#hash.block(row.lo, row.hi, inlineDepth, 0, SEED.INLINED);
      const { lo, hi } = this.#hash;
      const inlineOf = [row.lo, row.hi] as const;
      const names = named(frames[i] as ResolvedFrame);
      this.#put({ ...row, lo, hi, ...names, verified, inlineDepth, inlineOf });
    }
  }

  #put({ lo, hi, offsetLo, offsetHi, object, name, file, line, verified, ...inlined }: Row): void {
    this.#id.push(lo, hi);
    if (object === undefined) this.#offset.skip();
    else this.#offset.push(offsetLo, offsetHi);
    this.#buildId.push(object?.buildId);
    this.#object.push(object?.path);
    this.#kind.push(object?.kind);
    this.#name.push(name);
    this.#file.push(file);
    this.#line.push(line ?? 0);
    this.#verified.push(verified === undefined ? -1 : verified ? 1 : 0);
    this.#depth.push(inlined.inlineDepth ?? 0);
    if (inlined.inlineOf === undefined) this.#inlineOf.skip();
    else this.#inlineOf.push(...inlined.inlineOf);
    if (this.#id.length === GROUP) this.finish();
  }

  finish(): void {
    const rows = allRows(this.#id.length);
    this.count += rows.length;
    this.#sink.rows(rows.length, {
      frame_id: this.#id.values(rows),
      build_id: textValues(this.#buildId),
      object: textValues(this.#object),
      kind: textValues(this.#kind),
      offset: this.#offset.values(rows),
      function: textValues(this.#name),
      file: textValues(this.#file),
      line: this.#line.values(rows, 0),
      inline_of: this.#inlineOf.values(rows),
      inline_depth: this.#depth.values(rows, 0),
      verified: this.#verified.values(rows, -1),
    });
    for (
      const column of [
        ...[this.#id, this.#offset, this.#inlineOf],
        ...[this.#depth, this.#line, this.#verified],
      ]
    ) column.clear();
    this.#buildId = [];
    this.#object = [];
    this.#kind = [];
    this.#name = [];
    this.#file = [];
  }
}

function named({ name, file, line }: Pick<ResolvedFrame, "name" | "file" | "line">) {
  return {
    name: name === "??" ? undefined : name,
    file,
    line: line === 0 ? undefined : line,
  };
}

/**
 * Writes the frames that occur in the stacks and branches of a recording.
 *
 * @param resolver Looks up the names of frames; without it, they have no names.
 */
export async function frameRows(
  { places, recorded }: Engine,
  ids: PlaceIds,
  resolver: SymbolResolver | undefined,
  to: RowSink,
): Promise<void> {
  const rows = new FrameRows(to, new ShownNames(resolver?.show ?? ((name) => name)));
  const { count } = places;
  const row = (place: number): Row => {
    const object = places.objects[places.object(place)];
    return {
      lo: intAt(ids.frames, 2 * place),
      hi: intAt(ids.frames, 2 * place + 1),
      offsetLo: places.lo(place),
      offsetHi: places.hi(place),
      object: object === undefined ? undefined : recorded.complete(object),
    };
  };
  const done = new Uint8Array(count);
  if (resolver !== undefined) {
    const uses = new PlaceUses();
    for (let place = 0; place < count; place++) {
      if (ids.isUsed(place)) uses.use(place, ADDRESS_USE.IP, 0, 0);
    }
    await lookUpPlaces(places, uses, resolver, (found) => {
      for (const [i, place] of found.places.entries()) {
        done[place] = 1;
        rows.add(row(place), found.resolutions[i], found.verified);
      }
    });
  }
  for (let place = 0; place < count; place++) {
    if (done[place] === 0 && ids.isUsed(place)) rows.add(row(place));
  }
  rows.finish();
}
