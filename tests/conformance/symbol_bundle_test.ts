/**
 * Records programs in C, C++ and Rust with the installed `perf`, bundles their symbols, removes the
 * binaries, and compares the bundle with the results of the binaries, `addr2line` and
 * `llvm-symbolizer`.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { ADDRESS_USE, type SymbolTrust, symbolTrust } from "@perfdata/session";
import { bundleSymbols } from "@perfdata/session/symbols";
import { type RecordedAddresses, recordedAddresses } from "@perfdata/session/code";
import { BundleError, openResolver } from "@perfdata/symbols/files";
import type { Resolution } from "@perfdata/symbols/resolver";
import { SymbolBundle } from "@perfdata/symbols";
import { ignored, notInstalled } from "../support/ignored.ts";
import { noRecording } from "../support/recorded_program.ts";

const HERE = new URL("../support/symbol_bundle/", import.meta.url).pathname;

interface Program {
  readonly name: string;
  readonly compiler: readonly [string, ...string[]];
  readonly source: string;
}

const PROGRAMS: readonly Program[] = [
  {
    name: "C",
    compiler: ["gcc", "-O2", "-g", "-fno-omit-frame-pointer"],
    source: "calls.c",
  },
  {
    name: "C++",
    compiler: ["g++", "-std=c++17", "-O2", "-g", "-fno-omit-frame-pointer"],
    source: "templates.cpp",
  },
  {
    name: "Rust",
    compiler: ["rustc", "-O", "-g", "-C", "force-frame-pointers=yes"],
    source: "iterators.rs",
  },
];

/** Build ids are requested from all compilers, including Rust's linker. */
const BUILD_ID = { rustc: ["-C", "link-arg=-Wl,--build-id=sha1"] };

async function run(command: readonly string[], options: { input?: string; cwd?: string } = {}) {
  const [program = "", ...args] = command;
  const child = new Deno.Command(program, {
    args,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { LC_ALL: "C", DEBUGINFOD_URLS: "" },
    stdin: options.input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  if (options.input !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(options.input));
    await writer.close();
  }
  const { success, stdout, stderr } = await output;
  if (!success) throw new Error(`${command.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** A program that was built and recorded. */
interface Recording {
  readonly folder: string;
  readonly binary: string;
  readonly data: string;
}

async function record(program: Program, folder: string): Promise<Recording> {
  const binary = `${folder}/program`;
  const [compiler] = program.compiler;
  await run([
    ...program.compiler,
    ...(compiler === "rustc" ? BUILD_ID.rustc : ["-Wl,--build-id=sha1"]),
    "-o",
    binary,
    `${HERE}${program.source}`,
  ]);
  const data = `${folder}/perf.data`;
  await run([
    "sh",
    "-c",
    `ulimit -v 8000000; exec timeout 300 perf --buildid-dir "$1/cache" record -q -e cpu-clock -F 4000 -g -o "$2" "$3"`,
    "perf",
    folder,
    data,
    binary,
  ], { cwd: folder });
  return { folder, binary, data };
}

async function addressesOf(path: string): Promise<RecordedAddresses> {
  const source = openSource(path);
  return await recordedAddresses(await PerfDataReader.open(source));
}

/** The places of this recording: its own build-id cache, nothing of this machine's user. */
function placesOf({ folder }: Recording) {
  return { buildIdCache: `${folder}/cache`, debugRoot: "/usr/lib/debug" };
}

const NOWHERE = { debugRoot: "/nowhere" };

/** All look-ups of a recording, by object and address. */
async function resolutionsOf(
  recorded: RecordedAddresses,
  options: Parameters<typeof openResolver>[0],
): Promise<Map<string, Resolution>> {
  const all = new Map<string, Resolution>();
  await symbolTrust(recorded, openResolver(options), ({ symbols, rows, resolutions }) => {
    resolutions.forEach((resolution, i) => {
      const address = recorded.table.address[rows[i] ?? 0];
      all.set(`${symbols.object.path} ${address}`, resolution);
    });
  });
  return all;
}

/** Offset in the file, address and size of each load segment in readelf. */
async function loadSegments(binary: string) {
  const text = await run(["readelf", "-lW", binary]);
  const loads = [...text.matchAll(/^\s*LOAD\s+(0x\w+)\s+(0x\w+)\s+0x\w+\s+(0x\w+)/gm)]
    .map(([, offset, vaddr, size]) => ({
      offset: Number(offset),
      vaddr: Number(vaddr),
      size: Number(size),
    }));
  assert(loads.length > 0);
  return loads;
}

/** Converts file offsets to virtual addresses. */
async function fileAddresses(binary: string): Promise<(offset: number) => number> {
  const loads = await loadSegments(binary);
  return (at) => {
    const load = loads.find(({ offset, size }) => at >= offset && at < offset + size);
    assert(load !== undefined, `0x${at.toString(16)} is in no segment`);
    return at - load.offset + load.vaddr;
  };
}

/** Converts virtual addresses to file offsets. */
async function fileOffsets(binary: string): Promise<(address: number) => number> {
  const loads = await loadSegments(binary);
  return (at) => {
    const load = loads.find(({ vaddr, size }) => at >= vaddr && at < vaddr + size);
    assert(load !== undefined, `0x${at.toString(16)} is in no segment`);
    return at - load.vaddr + load.offset;
  };
}

/** `function file:line` of each frame. */
type Chain = readonly string[];

/** Removes `.` and `..`, since the tools join directories and names differently. */
function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === ".." && parts.length > 1) parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

/** Each frame as `addr2line -C` prints it, then its possible alternatives. */
function asAddr2line({ frames }: Resolution): string[][] {
  return frames.map((frame) => {
    const place = `${cleanPath(frame.file ?? "??")}:${frame.line}`;
    // For a static function without a linkage name in DWARF, binutils uses the symbol table if
    // nothing is inlined, otherwise the plain name.
    const plain = !frame.inlined && frame.linkageName === undefined ? [frame.function] : [];
    return [frame.name, ...plain].map((name) => `${name} ${place}`);
  });
}

/** Possible texts of each frame in `llvm-symbolizer --no-demangle`. */
function asLlvm({ frames }: Resolution, aliases: readonly string[]): string[][] {
  return frames.map((frame) => {
    const place = `${cleanPath(frame.file ?? "??")}:${frame.line}`;
    // It names the outermost function by the symbol table; of several at one address (merged
    // functions, the constructors C1 and C2) it chooses another one than perf.
    return [...frame.inlined ? [] : aliases, frame.linkageName ?? frame.function ?? "??"]
      .map((name) => `${name} ${place}`);
  });
}

/** The functions of a program's symbol table. */
async function functionsOf(binary: string) {
  const text = await run(["readelf", "-sW", binary]);
  return [...text.matchAll(/^\s*\d+: (\w+)\s+(\d+|0x\w+) FUNC\s.* (\S+)$/gm)].map(
    ([, value = "", size = "", name = ""]) => ({
      start: parseInt(value, 16),
      size: Number(size),
      name,
    }),
  );
}

async function addr2line(binary: string, addresses: readonly number[]): Promise<Chain[]> {
  const input = addresses.map((address) => `0x${address.toString(16)}\n`).join("");
  const text = await run(["addr2line", "-a", "-f", "-i", "-C", "-e", binary], { input });
  const chains: string[][] = [];
  const lines = text.trimEnd().split("\n");
  for (let i = 0; i < lines.length;) {
    if (/^0x[0-9a-f]{8,16}$/.test(lines[i] ?? "")) {
      chains.push([]);
      i++;
      continue;
    }
    const place = (lines[i + 1] ?? "").replace(/ \(discriminator \d+\)$/, "").replace(/:\?$/, ":0");
    chains.at(-1)?.push(`${lines[i]} ${cleanPath(place)}`);
    i += 2;
  }
  return chains;
}

async function llvmSymbolizer(binary: string, addresses: readonly number[]): Promise<Chain[]> {
  const input = addresses.map((address) => `0x${address.toString(16)}\n`).join("");
  const text = await run(
    ["llvm-symbolizer", "--no-demangle", "--inlines", "--output-style=LLVM", "-e", binary],
    { input },
  );
  // A block per address, with an empty line after it.
  const blocks = text.trimEnd().split("\n\n");
  return blocks.map((block) => {
    const lines = block.split("\n");
    const chain: string[] = [];
    for (let i = 0; i + 1 < lines.length; i += 2) {
      const place = (lines[i + 1] ?? "").replace(/:\d+$/, "");
      chain.push(`${lines[i]} ${cleanPath(place)}`);
    }
    return chain;
  });
}

for (const program of PROGRAMS) {
  Deno.test({
    name: `symbols bundle: a recorded ${program.name} program needs no binaries`,
    ...ignored(
      noRecording() ?? notInstalled(program.compiler[0], "readelf", "addr2line", "llvm-symbolizer"),
    ),
    async fn(t) {
      const folder = await Deno.makeTempDir({ prefix: "perfdata-bundle-" });
      try {
        const recording = await record(program, folder);
        const { binary, data } = recording;
        const recorded = await addressesOf(data);
        const here = { places: placesOf(recording) };
        const withBinaries = await resolutionsOf(recorded, here);
        const { bytes, trust } = await bundleSymbols(recorded, openResolver(here));
        const object = recorded.objects.find(({ path }) => path === binary);
        assert(object?.buildId !== undefined, "the recording has a build id of the program");

        await t.step("symbols bundle: the same input gives the same bytes", async () => {
          const again = await bundleSymbols(await addressesOf(data), openResolver(here));
          assertEquals(again.bytes, bytes);
        });

        await t.step(
          "symbols bundle: inline chains equal those of addr2line and llvm-symbolizer",
          async () => {
            const offsets = offsetsOf(recorded, binary);
            assert(offsets.length >= 5, `only ${offsets.length} distinct addresses were recorded`);
            await compareChains(program.name, binary, offsets, withBinaries);
          },
        );

        // A recording has few places, so all of the program's code is added as if sampled.
        const swept = await sweep(recorded, binary);
        const sweptWithBinaries = await resolutionsOf(swept, here);
        const sweptBundle = await bundleSymbols(swept, openResolver(here));
        await t.step("symbols bundle: inline chains of all code are equal, too", async () => {
          const offsets = offsetsOf(swept, binary);
          const { inlined } = await compareChains(
            `${program.name}, all code`,
            binary,
            offsets,
            sweptWithBinaries,
          );
          assert(offsets.length > 100 && inlined > 30, `${inlined} of ${offsets.length} inlined`);
        });

        await Deno.rename(binary, `${binary}.away`);
        const bundleFile = `${folder}/perf.symbols`;
        await Deno.writeFile(bundleFile, bytes);

        await t.step("symbols bundle: without binaries, the results are the same", async () => {
          const bundled = await resolutionsOf(recorded, { places: NOWHERE, symbols: bundleFile });
          // The bundle is searched first, so files cannot have been read.
          for (const [key, resolution] of withBinaries) {
            if (resolution.cause === undefined) assertEquals(bundled.get(key), resolution, key);
            else assertEquals(bundled.get(key)?.cause, resolution.cause, key);
          }
          assertEquals(bundled.size, withBinaries.size);
          await Deno.writeFile(`${folder}/swept.symbols`, sweptBundle.bytes);
          const sweptBundled = await resolutionsOf(swept, {
            places: NOWHERE,
            symbols: `${folder}/swept.symbols`,
          });
          assertEquals(sweptBundled, sweptWithBinaries);
          const without = await symbolTrust(recorded, openResolver({ places: NOWHERE }));
          assertEquals(causes(without, binary), ["file missing"]);
        });

        await t.step(
          "symbols bundle: names without demangling are those in the files",
          async () => {
            const bundled = await resolutionsOf(recorded, {
              places: NOWHERE,
              symbols: bundleFile,
              demangle: false,
            });
            for (const [key, { frames, symbol }] of withBinaries) {
              const plain = bundled.get(key)?.frames ?? [];
              assertEquals(
                plain.map(({ name }) => name),
                frames.map((frame) =>
                  frame.linkageName ??
                    (!frame.inlined && /^_[ZR]/.test(symbol?.name ?? "")
                      ? symbol?.name
                      : frame.function ?? (frame.inlined ? undefined : symbol?.name) ?? "??")
                ),
              );
            }
          },
        );

        await t.step("symbols bundle: another build is refused, reported and counted", async () => {
          await Deno.copyFile("/bin/sh", binary);
          for (const symbols of [undefined, await otherBuild(bytes, object.buildId ?? "")]) {
            const path = `${folder}/other.symbols`;
            if (symbols !== undefined) await Deno.writeFile(path, symbols);
            const refusing = await symbolTrust(
              recorded,
              openResolver({
                places: NOWHERE,
                ...(symbols === undefined ? {} : { symbols: path }),
              }),
            );
            const found = refusing.objects.find((object) => object.object?.path === binary);
            assertEquals(found?.resolved.addresses, 0);
            assertEquals(causes(refusing, binary), ["build id differs"]);
            assertEquals(
              found?.refused.map(({ path, reason }) => [path, reason]),
              Array(symbols === undefined ? 1 : 2).fill([binary, "build id differs"]),
            );
          }
        });

        await t.step("symbols bundle: counts of trust add up", () => {
          const sums = [...trust.unresolved.values()].reduce(
            (sum, counted) => sum + counted.samples,
            trust.resolved.samples,
          );
          assertEquals([sums, trust.all.samples], [recorded.samples, recorded.samples]);
          assertEquals(
            trust.objects.reduce((sum, { all }) => sum + all.addresses, 0),
            trust.all.addresses,
          );
        });
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

/** Compares look-ups with other tools, for all code with a source line. */
async function compareChains(
  name: string,
  binary: string,
  offsets: readonly number[],
  resolved: ReadonlyMap<string, Resolution>,
): Promise<{ inlined: number }> {
  const toAddress = await fileAddresses(binary);
  const addresses = offsets.map(toAddress);
  const [binutils, llvm] = await Promise.all([
    addr2line(binary, addresses),
    llvmSymbolizer(binary, addresses),
  ]);
  const functions = await functionsOf(binary);
  assertEquals([binutils.length, llvm.length], [offsets.length, offsets.length]);
  let inlined = 0, compared = 0;
  const wrong: string[] = [];
  offsets.forEach((offset, i) => {
    const resolution = resolved.get(`${binary} ${offset}`);
    assert(resolution !== undefined);
    if (resolution.frames.length > 1) inlined++;
    // Code without debug information (start-up code) is named by the symbol table.
    if (resolution.frames.every(({ line }) => line === 0)) return;
    compared++;
    const aliases = functions.filter(({ start, size }) =>
      (addresses[i] ?? 0) >= start && (addresses[i] ?? 0) < start + size
    ).map(({ name }) => name);
    const at = `0x${addresses[i]?.toString(16)}`;
    for (
      const [tool, theirs = [], ours] of [
        ["addr2line", binutils[i], asAddr2line(resolution)],
        ["llvm", llvm[i], asLlvm(resolution, aliases)],
      ] as const
    ) {
      const equal = theirs.length === ours.length &&
        theirs.every((frame, k) => ours[k]?.includes(frame));
      if (!equal) wrong.push(`${at} ${tool}: ${theirs.join(" | ")}\n  ours: ${ours.join(" | ")}`);
    }
  });
  console.log(
    `${name}: ${compared} of ${offsets.length} addresses have lines, ` +
      `${inlined} inlined calls, ${wrong.length} differ`,
  );
  assertEquals(wrong.join("\n"), "");
  return { inlined };
}

/** The recording's program, with addresses all over its code. */
async function sweep(recorded: RecordedAddresses, binary: string): Promise<RecordedAddresses> {
  const sections = await run(["readelf", "-SW", binary]);
  const [, start = "", size = ""] =
    /\s\.text\s+PROGBITS\s+(\w+)\s+(?:\w+)\s+(\w+)/.exec(sections) ?? [];
  const from = parseInt(start, 16);
  const to = from + parseInt(size, 16);
  // Padding between functions, which each tool treats differently.
  const inFunction = new Uint8Array(to - from);
  for (const { start, size } of await functionsOf(binary)) {
    if (start >= from && start < to) inFunction.fill(1, start - from, start - from + size);
  }
  const toOffset = await fileOffsets(binary);
  const addresses: number[] = [];
  const step = Math.max(1, Math.floor((to - from) / 3000));
  for (let address = from; address < to; address += step) {
    if (inFunction[address - from] === 0) continue;
    addresses.push(toOffset(address));
  }
  const count = addresses.length;
  const ones = new Float64Array(count).fill(1);
  const table = {
    count,
    object: new Int32Array(count),
    address: Float64Array.from(addresses),
    uses: new Uint8Array(count).fill(ADDRESS_USE.IP),
    samples: ones,
    periods: ones,
    times: new Float64Array(count),
  };
  const objects = recorded.objects.filter(({ path }) => path === binary);
  return { ...recorded, objects, table };
}

/** File offsets of sampled addresses and callers. */
function offsetsOf({ objects, table }: RecordedAddresses, path: string): number[] {
  const number = objects.findIndex((object) => object.path === path);
  const offsets: number[] = [];
  for (let row = 0; row < table.count; row++) {
    if (table.object[row] !== number || table.uses[row] === ADDRESS_USE.BEFORE_RETURN) continue;
    offsets.push(table.address[row] ?? 0);
  }
  return offsets.sort((a, b) => a - b);
}

function causes(trust: SymbolTrust, path: string): string[] {
  const found = trust.objects.find(({ object }) => object?.path === path);
  return [...found?.unresolved ?? []].filter(([, { addresses }]) => addresses > 0)
    .map(([cause]) => cause);
}

/** The bundle with another build id, and a checksum computed by zlib. */
async function otherBuild(bytes: Uint8Array, buildId: string): Promise<Uint8Array> {
  const other = bytes.slice();
  const id = Uint8Array.from(buildId.match(/../g) ?? [], (digits) => parseInt(digits, 16));
  for (let at = 0; at + id.length <= other.length; at++) {
    if (id.every((byte, i) => other[at + i] === byte)) other[at] = (other[at] ?? 0) ^ 0xff;
  }
  assertThrows(() => SymbolBundle.open(other), BundleError, "checksum");
  const { crc32 } = await import("node:zlib");
  new DataView(other.buffer).setUint32(12, crc32(other.subarray(16)), true);
  return other;
}
