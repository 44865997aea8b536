import { ByteText, floatAt, intAt } from "@perfdata/format/bytes";
import { oneFunctionEach } from "../tree/one_function.ts";
import {
  FloatColumn,
  frameStacks,
  functionName,
  NodeTable,
  type Profile,
  totals,
} from "@perfdata/profile";

/** Options of {@linkcode callgrind}. */
export interface CallgrindOptions {
  /** Whether inlined functions are separate functions; default true. */
  readonly inline?: boolean;
}

/**
 * A profile for KCachegrind, QCachegrind and `callgrind_annotate` (the Callgrind Profile Format,
 * version 1).
 *
 * Costs are the periods and the samples of each event, by line. The cost of a call
 * is the sum of the samples below it. Its number of calls is the number of these samples, because
 * sampling does not count calls. A sample counts once for a call, however often the call is in its
 * stack.
 */
export function* callgrind(
  apart: Profile,
  { inline = true }: CallgrindOptions = {},
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const profile = oneFunctionEach(apart);
  const { events, files, frames, functions, objects, samples } = profile;
  const width = events.length * 2;
  const { self, calls, callCosts } = costs(profile, inline);
  const text = new ByteText();
  const names = events.flatMap(({ name }) => {
    const plain = name.replace(/[^A-Za-z0-9_-]/g, "_");
    return [plain, events.length > 1 ? `${plain}_samples` : "samples"];
  });
  text.string("# callgrind format\nversion: 1\ncreator: perfdata\n");
  text.string(`cmd: ${oneLine(profile.title)}\n`);
  if (profile.trust !== "") text.string(`desc: Trust: ${oneLine(profile.trust)}\n`);
  text.string(`positions: line\nevents: ${names.join(" ")}\n`);
  const sums = totals(profile).flatMap(({ period, samples }) => [period, samples]);
  text.string(`summary: ${sums.join(" ")}\n`);

  const frameRows = rowsBy(frames.function, functions.name.length);
  const callRows = rowsBy(calls.parents(), frames.function.length);
  const known = new Set<string>();
  const named = (key: string, kind: string, number: number, name: string) => {
    const first = !known.has(`${kind}${number}`);
    known.add(`${kind}${number}`);
    text.string(`${key}=(${number + 1})${first ? ` ${oneLine(name)}` : ""}\n`);
  };
  // File and object 0 mean unknown.
  const fileName = (file: number) => files[file] ?? "???";
  const objectName = (object: number) => objects[object]?.path ?? "[unknown]";
  const firstFile = new Int32Array(functions.name.length).fill(-1);
  for (let frame = frames.function.length - 1; frame >= 0; frame--) {
    const file = intAt(frames.file, frame);
    if (file >= 0) firstFile[intAt(frames.function, frame)] = file;
  }
  const cost = (of: Float64Array, at: number) => {
    for (let i = 0; i < width; i++) {
      text.byte(0x20);
      text.number(floatAt(of, at * width + i));
    }
    text.byte(0x0a);
  };
  for (const [number, own] of frameRows.entries()) {
    if (own.length === 0) continue;
    text.byte(0x0a);
    const object = intAt(functions.object, number);
    named("ob", "o", object + 1, objectName(object));
    let file = intAt(firstFile, number);
    named("fl", "f", file + 1, fileName(file));
    named("fn", "n", number, functionName(profile, number));
    for (const frame of own) {
      const line = intAt(frames.line, frame);
      const lineFile = intAt(frames.file, frame);
      if (lineFile >= 0 && lineFile !== file) {
        file = lineFile;
        named("fi", "f", file + 1, fileName(file));
      }
      if (self.subarray(frame * width, (frame + 1) * width).some((value) => value !== 0)) {
        text.number(line);
        cost(self, frame);
      }
      for (const call of callRows[frame] ?? []) {
        const callee = calls.item(call);
        const calleeObject = intAt(functions.object, callee);
        const calleeFile = intAt(firstFile, callee);
        named("cob", "o", calleeObject + 1, objectName(calleeObject));
        named("cfi", "f", calleeFile + 1, fileName(calleeFile));
        named("cfn", "n", callee, functionName(profile, callee));
        let count = 0;
        for (let i = 1; i < width; i += 2) count += floatAt(callCosts, call * width + i);
        text.string(`calls=${count} 0\n`);
        text.number(line);
        cost(callCosts, call);
      }
      if (text.isFull) yield text.take();
    }
  }
  const bare = new Float64Array(width);
  for (let i = 0; i < samples.length; i++) {
    if (intAt(samples.stack, i) >= 0) continue;
    (bare[(samples.event[i] as number) * 2] as number) += floatAt(samples.period, i);
    (bare[(samples.event[i] as number) * 2 + 1] as number) += samples.count[i] as number;
  }
  if (bare.some((value) => value !== 0)) {
    text.byte(0x0a);
    named("ob", "o", 0, objectName(-1));
    named("fl", "f", 0, fileName(-1));
    text.string("fn=[no stack]\n0");
    cost(bare, 0);
  }
  text.string(`\ntotals: ${sums.join(" ")}\n`);
  yield text.take();
}

function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex -- a name may have any byte
  return text.replace(/[\x00-\x1f\x7f]/g, " ");
}

function rowsBy(column: Int32Array, count: number): number[][] {
  const rows: number[][] = Array.from({ length: count }, () => []);
  for (let row = 0; row < column.length; row++) rows[intAt(column, row)]?.push(row);
  return rows;
}

/** Costs of frames and of calls: of a function (item) from a frame (parent). */
function costs(profile: Profile, inline: boolean) {
  const { events, frames, samples } = profile;
  const width = events.length * 2;
  const stacks = frameStacks(profile, { by: "frame", inline });
  const count = stacks.item.length;
  const sums = new Float64Array(count * width);
  const self = new Float64Array(frames.function.length * width);
  for (let i = 0; i < samples.length; i++) {
    const stack = intAt(samples.stack, i);
    if (stack < 0) continue;
    const node = intAt(stacks.of, stack);
    const column = (samples.event[i] as number) * 2;
    const frame = intAt(stacks.item, node);
    for (const [at, value] of [[0, samples.period[i]], [1, samples.count[i]]] as const) {
      (sums[node * width + column + at] as number) += value as number;
      (self[frame * width + column + at] as number) += value as number;
    }
  }
  for (let node = count - 1; node >= 0; node--) {
    const parent = intAt(stacks.parent, node);
    if (parent < 0) continue;
    for (let i = 0; i < width; i++) {
      (sums[parent * width + i] as number) += floatAt(sums, node * width + i);
    }
  }
  const calls = new NodeTable();
  const callCosts = new FloatColumn();
  const functionOf = (node: number) => intAt(frames.function, intAt(stacks.item, node));
  /** Whether the same call is further up in the stack, where it was counted already. */
  const met = (node: number, caller: number, callee: number) => {
    for (let at = intAt(stacks.parent, node); at >= 0;) {
      const above = intAt(stacks.parent, at);
      if (above >= 0 && functionOf(at) === callee && functionOf(above) === caller) return true;
      at = above;
    }
    return false;
  };
  for (let node = 0; node < count; node++) {
    const parent = intAt(stacks.parent, node);
    if (parent < 0 || met(node, functionOf(parent), functionOf(node))) continue;
    const call = calls.node(intAt(stacks.item, parent), functionOf(node));
    while (callCosts.length < (call + 1) * width) callCosts.push(0);
    for (let i = 0; i < width; i++) {
      (callCosts.array()[call * width + i] as number) += floatAt(sums, node * width + i);
    }
  }
  return { self, calls, callCosts: callCosts.array() };
}
