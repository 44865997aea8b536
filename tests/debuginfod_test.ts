/** `symbols fetch`: servers that are right, slow, wrong, gone and hostile, and Debian's debuginfod. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { gzipSync } from "node:zlib";
import { emptyAttr } from "@perfdata/format";
import { ElfFile } from "@perfdata/symbols";
import { openFileSource } from "@perfdata/symbols/file-source";
import { asFile, type Item } from "../fixtures/synthesize/recording.ts";
import { symbolTable, writeElf } from "../packages/symbols/testing/elf_writer.ts";
import { netPermission, serversOf } from "../tools/_debuginfod_job.ts";
import { ignored, notInstalled } from "./ignored.ts";
import { denoFolder, inFolder, tool, toolArguments, type ToolResult } from "./tool.ts";

const ID = "abcdef0123456789abcdef0123456789abcdef01";
const DENO_DIR = denoFolder();
const OTHER = "00112233445566778899aabbccddeeff00112233";

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** A program of one function, of a build, and so large. */
function program(buildId: string, size = 0): Uint8Array {
  const file = { is64: true, littleEndian: true };
  const { symtab, strtab } = symbolTable(file, [
    { name: "work", value: 0x1000n, size: 0x100n, info: 0x12, shndx: 1 },
  ]);
  const note = Uint8Array.of(
    ...[4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 0x47, 0x4e, 0x55, 0],
    ...bytesOf(buildId),
  );
  return writeElf({
    ...file,
    type: 3,
    machine: 62,
    sections: [
      { name: ".text", type: 1, flags: 6, addr: 0x1000n, bytes: new Uint8Array(0x100) },
      { name: ".symtab", type: 2, bytes: symtab, link: 3, info: 1, entsize: 24 },
      { name: ".strtab", type: 3, bytes: strtab },
      { name: ".note.gnu.build-id", type: 7, flags: 2, addr: 0x2000n, bytes: note },
      { name: ".more", type: 1, bytes: Uint8Array.from({ length: size }, (_, i) => i * i >> 8) },
    ],
    segments: [{ type: 1, flags: 5, offset: 0n, vaddr: 0xf80n, filesz: 0x400n, memsz: 0x400n }],
  });
}

/** 20 samples in a file that is not here, of a known build. */
async function recording(buildId: string, path = "/not/here/program"): Promise<Uint8Array> {
  const flags = { ...emptyAttr().flags, sample_id_all: true, mmap2: true, build_id: true };
  // IP, TID, TIME
  const attr = { ...emptyAttr(), size: 120, sample_type: 7n, sample_period: 3n, flags };
  const map = {
    record: {
      type: 10,
      name: "MMAP2",
      misc: 2 | 1 << 14,
      body: {
        ...{ pid: 7, tid: 7, addr: 0x40_0000n, len: 0x1000n, pgoff: 0n },
        ...{ build_id_size: 20, __reserved_1: 0, __reserved_2: 0, build_id: bytesOf(buildId) },
        ...{ prot: 5, flags: 2, filename: path },
      },
    },
  } as Item;
  const samples = Array.from({ length: 20 }, (_, i) => ({
    record: {
      type: 9,
      name: "SAMPLE",
      misc: 2,
      body: { ip: 0x40_0090n, pid: 7, tid: 7, time: BigInt(1000 * (i + 1)) },
    },
  } as Item));
  return await asFile(
    { events: [{ attr, ids: [1n] }], items: [map, ...samples], features: [] },
    true,
  );
}

type Answer = (request: Request) => Response | Promise<Response>;

/** Runs `symbols fetch` against servers of ours; their answers are for debug information, others are 404. */
async function fetching(
  folder: string,
  answers: readonly Answer[],
  env: Record<string, string> = {},
): Promise<ToolResult & { readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const servers = answers.map((answer) =>
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      return pathname === `/buildid/${ID}/debuginfo`
        ? answer(request)
        : new Response(null, { status: 404 });
    })
  );
  try {
    const urls = servers.map(({ addr: { port } }) => `http://127.0.0.1:${port}/`).join(" ");
    return { ...await fetchFrom(folder, urls, env), asked };
  } finally {
    for (const server of servers) await server.shutdown();
  }
}

async function fetchFrom(
  folder: string,
  urls: string,
  env: Record<string, string> = {},
): Promise<ToolResult> {
  return await tool("symbols", ["fetch", "perf.data"], {
    cwd: folder,
    env: { ...homeIn(folder), DEBUGINFOD_URLS: urls, NO_PROXY: "127.0.0.1", ...env },
  });
}

function homeIn(folder: string): Record<string, string> {
  return { HOME: folder, DEBUGINFOD_CACHE_PATH: `${folder}/cache`, DENO_DIR };
}

/** Functions as `funcs` names them from what is in the cache. */
async function named(folder: string): Promise<string> {
  const { out } = await tool("funcs", ["--csv", "--sort", "sym", "perf.data"], {
    cwd: folder,
    env: homeIn(folder),
  });
  return out;
}

const RIGHT = program(ID, 200_000);
const whole: Answer = () => new Response(RIGHT.slice());

/** What a server does, and what the one line about it says. */
const BAD: readonly (readonly [string, Answer, RegExp])[] = [
  ["does not know it", () => new Response(null, { status: 404 }), /does not have it/],
  ["fails", () => new Response(null, { status: 503 }), /status 503/],
  ["sends another build", () => new Response(program(OTHER).slice()), /sent another build, 0011/],
  ["sends a page", () => new Response("<html>".repeat(1000)), /is no ELF file/],
  ["sends less than all", () => new Response(RIGHT.slice(0, 100_000)), /./],
  ["never ends", () => new Response(endless()), /too large: more than 1000000 bytes/],
  ["sends a bomb", () => new Response(BOMB, GZIP), /too large: more than 1000000 bytes|no ELF/],
  [
    "says that it is too large",
    () => new Response(new Uint8Array(2_000_000)),
    /too large: more than 1000000 bytes/,
  ],
  [
    "is silent",
    () => new Promise<Response>((answer) => setTimeout(() => answer(new Response("")), 2500)),
    /less than 100 KB came in 1 seconds/,
  ],
  [
    "leads elsewhere",
    () => Response.redirect("http://127.0.0.1:20001/"),
    /another host, which DEBUGINFOD_URLS does not name/,
  ],
];

const GZIP = { headers: { "content-encoding": "gzip" } };
const BOMB = new Uint8Array(gzipSync(program(ID, 3_000_000)));
const LIMITS = { DEBUGINFOD_MAXSIZE: "1000000", DEBUGINFOD_TIMEOUT: "1" };

/** The right file, followed by zeros without end. */
function endless(): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(sent ? new Uint8Array(1 << 16) : RIGHT.slice());
      sent = true;
    },
  });
}

for (const [what, answer, said] of BAD) {
  Deno.test(`symbols fetch: a server that ${what} is one line`, () =>
    inFolder(async (folder) => {
      Deno.writeFileSync(`${folder}/perf.data`, await recording(ID));
      const { code, out, err } = await fetching(folder, [answer], LIMITS);
      const lines = err.split("\n").filter((line) => line.includes("debuginfo"));
      assertEquals(lines.length, 1, err);
      assertMatch(lines[0] ?? "", said);
      assertStringIncludes(out, "0 files came; 0.00% of samples have a function");
      assertEquals(code, what === "does not know it" ? 0 : 1);
    }));
}

Deno.test("symbols fetch: servers are asked in turn, and names are those of the right file", () =>
  inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/perf.data`, await recording(ID));
    const bad = BAD.map(([, answer]) => answer);
    await fetching(folder, bad, LIMITS);
    assert(!(await named(folder)).includes("work"));
    // What is said to help is what then does.
    const trust = async () =>
      (await tool("symbols", ["trust", "perf.data"], { cwd: folder, env: homeIn(folder) })).out;
    assertMatch(await trust(), /\nwhat helps:\n100\.00% of samples: perfdata symbols fetch\n/);
    const { out, err } = await fetching(folder, [...bad, whole], LIMITS);
    assertStringIncludes(out, "1 files came; 100.00% of samples have a function", err);
    assertStringIncludes(await named(folder), "work");
    assert(!(await trust()).includes("what helps"));
    // Nothing else is left, but for what may be continued.
    const kept = [...Deno.readDirSync(`${folder}/cache/${ID}`)].map(({ name }) => name);
    assertEquals(kept.filter((name) => !name.endsWith(".part")), ["debuginfo"]);
  }));

Deno.test("symbols fetch: a server that is gone is one line", () =>
  inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/perf.data`, await recording(ID));
    const { code, err } = await fetchFrom(folder, "http://127.0.0.1:9/");
    const lines = err.split("\n").filter((line) => line.includes("no debuginfo"));
    assertEquals([code, lines.length], [1, 1], err);
  }));

Deno.test("symbols fetch: what was cut off is continued, and is the file", () =>
  inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/perf.data`, await recording(ID));
    const ranges: (string | null)[] = [];
    let cut = true;
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      if (!request.url.endsWith("/debuginfo")) return new Response(null, { status: 404 });
      const range = request.headers.get("range");
      ranges.push(range);
      if (cut) {
        cut = false;
        // The length is that of all of it; half comes, and then nothing.
        let sent = false;
        const body = new ReadableStream<Uint8Array>({
          pull(controller) {
            if (!sent) controller.enqueue(RIGHT.slice(0, 150_000));
            else return new Promise<void>((done) => setTimeout(done, 3000));
            sent = true;
          },
        });
        return new Response(body);
      }
      const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
      return new Response(RIGHT.slice(from), {
        status: from > 0 ? 206 : 200,
        headers: { "content-range": `bytes ${from}-${RIGHT.length - 1}/${RIGHT.length}` },
      });
    });
    const url = `http://127.0.0.1:${server.addr.port}/`;
    const first = await fetchFrom(folder, url, { DEBUGINFOD_TIMEOUT: "1" });
    assertMatch(first.err, /less than 100 KB came in 1 seconds/);
    const second = await fetchFrom(folder, url);
    await server.shutdown();
    assertStringIncludes(second.out, "1 files came; 100.00%", second.err);
    assertEquals(ranges, [null, "bytes=150000-"]);
    assertEquals(Deno.readFileSync(`${folder}/cache/${ID}/debuginfo`), RIGHT);
  }));

Deno.test("symbols fetch: a signal ends the download as well", () =>
  inFolder(async (folder) => {
    if (Deno.build.os === "windows") return;
    Deno.writeFileSync(`${folder}/perf.data`, await recording(ID));
    const asked = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
      let timer: ReturnType<typeof setInterval> | undefined;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(RIGHT.slice(0, 100));
          timer = setInterval(() => controller.enqueue(new Uint8Array(10)), 20);
          asked.resolve();
        },
        cancel() {
          clearInterval(timer);
          left.resolve();
        },
      });
      return new Response(body);
    });
    const child = new Deno.Command(Deno.execPath(), {
      args: [...toolArguments("symbols"), "fetch", "perf.data"],
      cwd: folder,
      env: {
        ...{ ...homeIn(folder), NO_PROXY: "127.0.0.1", PERFDATA_CWD: "" },
        DEBUGINFOD_URLS: `http://127.0.0.1:${server.addr.port}/`,
      },
      stdout: "null",
      stderr: "null",
    }).spawn();
    await asked.promise;
    child.kill("SIGTERM");
    assertEquals((await child.status).code, 1);
    // What downloads has gone: nobody reads any more.
    await left.promise;
    await server.shutdown();
    const kept = [...Deno.readDirSync(`${folder}/cache/${ID}`)].map(({ name }) => name);
    assert(kept.every((name) => name.endsWith(".part")), kept.join());
  }));

Deno.test("symbols fetch: what is there is not asked for, and servers have to be named", () =>
  inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/perf.data`, await recording(ID));
    await fetching(folder, [whole]);
    const again = await fetching(folder, [whole]);
    assertEquals([again.code, again.asked], [0, []], again.err);
    assertEquals(again.out, "nothing is missing that has a build id\n");
    for (const urls of ["", "file:///x", "nonsense"]) {
      const { code, err } = await fetchFrom(folder, urls);
      assertEquals(code, 1);
      assertMatch(err, /^symbols: DEBUGINFOD_URLS (names no server|has)/);
    }
    assertEquals(serversOf(" http://a/ https://b:1/x "), ["http://a/", "https://b:1/x"]);
    assertEquals(["http://a/", "https://b/", "http://[::1]:8/"].map(netPermission), [
      "a:80",
      "b:443",
      "[::1]:8",
    ]);
  }));

/** Why debuginfod cannot be tried. */
const missing = notInstalled("debuginfod") ?? notInstalled("gcc");

Deno.test({
  name: "symbols fetch: from Debian's debuginfod, the symbols of a stripped program",
  ...ignored(missing),
  fn: () =>
    inFolder(async (folder) => {
      Deno.mkdirSync(`${folder}/built`);
      Deno.writeTextFileSync(
        `${folder}/a.c`,
        "int work(void){return 1;} int main(){return work();}",
      );
      const path = `${folder}/built/program`;
      const args = ["-g", "-O0", "-Wl,--build-id", `${folder}/a.c`, "-o", path];
      assert(new Deno.Command("gcc", { args }).outputSync().success);
      let buildId = "";
      {
        using source = openFileSource(path);
        buildId = ElfFile.open(source).buildId() ?? "";
      }
      Deno.writeFileSync(`${folder}/perf.data`, await recording(buildId));
      const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const { port } = listener.addr;
      listener.close();
      const server = new Deno.Command("debuginfod", {
        args: ["-F", "-p", String(port), "-d", `${folder}/index.sqlite`, `${folder}/built`],
        stdout: "null",
        stderr: "null",
      }).spawn();
      try {
        const url = `http://127.0.0.1:${port}`;
        // It answers once it has looked at the folder.
        for (let i = 0; i < 300; i++) {
          const found = await fetch(`${url}/buildid/${buildId}/debuginfo`).catch(() => undefined);
          await found?.body?.cancel();
          if (found?.ok) break;
          await new Promise((done) => setTimeout(done, 100));
        }
        const { code, out, err } = await fetchFrom(folder, url);
        assertEquals(code, 0, err);
        assertMatch(out, /^2 files came; /);
        const cached = Deno.readFileSync(`${folder}/cache/${buildId}/executable`);
        assertEquals(cached, Deno.readFileSync(path));
      } finally {
        server.kill("SIGTERM");
        await server.status;
      }
    }),
});
