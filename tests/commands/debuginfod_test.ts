/**
 * `symbols fetch` with correct, slow, wrong, missing and hostile servers, and Debian's debuginfod.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { gzipSync } from "node:zlib";
import { ElfFile } from "@perfdata/symbols";
import { openBinaryFile } from "@perfdata/symbols/files";
import { netPermission, serversOf } from "../../tools/shared/debuginfod_job.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { mappedRecording, oneFunction } from "../support/mapped_recording.ts";
import {
  denoFolder,
  inFolder,
  tool,
  toolArguments,
  toolProcess,
  type ToolResult,
} from "../support/tool.ts";

const ID = "abcdef0123456789abcdef0123456789abcdef01";
const DENO_DIR = denoFolder();
const OTHER = "00112233445566778899aabbccddeeff00112233";

/** A program of one function, with a build id and a size. */
function program(buildId: string, size = 0, altLink?: string): Uint8Array {
  const shared = [...new TextEncoder().encode("shared\0"), ...fromHex(altLink ?? "")];
  return oneFunction({
    buildId,
    sections: [
      { name: ".more", type: 1, bytes: Uint8Array.from({ length: size }, (_, i) => i * i >> 8) },
      ...(altLink === undefined
        ? []
        : [{ name: ".gnu_debugaltlink", type: 1, bytes: Uint8Array.from(shared) }]),
    ],
  });
}

function fromHex(text: string): number[] {
  return (text.match(/../g) ?? []).map((pair) => parseInt(pair, 16));
}

/** Samples in a missing file with a known build id. */
const recording = (buildId: string) => mappedRecording({ path: "/not/here/program", buildId });

type Answer = (request: Request) => Response | Promise<Response>;

/** Runs `symbols fetch` with servers that answer requests for debug information; others get 404. */
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
  flags: readonly string[] = [],
): Promise<ToolResult> {
  // In a process of its own, which asks for permissions for the servers.
  return await toolProcess("symbols", ["fetch", ...flags, "perf.data"], {
    cwd: folder,
    env: { ...homeIn(folder), DEBUGINFOD_URLS: urls, NO_PROXY: "127.0.0.1", ...env },
  });
}

function homeIn(folder: string): Record<string, string> {
  return { HOME: folder, DEBUGINFOD_CACHE_PATH: `${folder}/cache`, DENO_DIR };
}

/** Function names that `funcs` finds in the cache. */
async function named(folder: string): Promise<string> {
  const { out } = await tool("funcs", ["--csv", "--sort", "sym", "perf.data"], {
    cwd: folder,
    env: homeIn(folder),
  });
  return out;
}

const RIGHT = program(ID, 200_000);
const whole: Answer = () => new Response(RIGHT.slice());

/** Behavior of a server, and the expected line about it. */
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
    "drips",
    () => new Response(dripping()),
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
/** For servers that send at once: on a busy machine, a process takes seconds to read it. */
const PATIENT = { ...LIMITS, DEBUGINFOD_TIMEOUT: "60" };

/** The right file, followed by endless zeros. */
function endless(): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(sent ? new Uint8Array(1 << 16) : RIGHT.slice());
      sent = true;
    },
  });
}

/** A few bytes from time to time, until the client leaves. */
function dripping(): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setInterval> | undefined;
  let at = 0;
  return new ReadableStream({
    start(controller) {
      timer = setInterval(() => controller.enqueue(RIGHT.slice(at, at += 10)), 20);
    },
    cancel: () => clearInterval(timer),
  });
}

for (const [what, answer, said] of BAD) {
  Deno.test(`symbols fetch: a server that ${what} is one line`, () =>
    inFolder(async (folder) => {
      Deno.writeFileSync(`${folder}/perf.data`, await recording(ID));
      const isSlow = what === "is silent" || what === "drips";
      const { code, out, err } = await fetching(folder, [answer], isSlow ? LIMITS : PATIENT);
      const lines = err.split("\n").filter((line) => line.includes("debuginfo"));
      assertEquals(lines.length, 1, err);
      assertMatch(lines[0] ?? "", said);
      assertStringIncludes(out, "0 files came; 0.00% of samples have a function");
      assertEquals(code, what === "does not know it" ? 0 : 1);
    }));
}

Deno.test("symbols fetch: several servers are asked in turn, and the file with the build id is kept", () =>
  inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/perf.data`, await recording(ID));
    const bad = BAD.map(([, answer]) => answer);
    await fetching(folder, bad, LIMITS);
    assert(!(await named(folder)).includes("work"));
    // The suggested remedy works.
    const trust = async () =>
      (await tool("symbols", ["trust", "perf.data"], { cwd: folder, env: homeIn(folder) })).out;
    assertStringIncludes(
      await trust(),
      "\nwhat helps:\n100.00% of samples: perfdata symbols fetch perf.data\n" +
        "  /not/here/program (100.00%): looked for as\n    /not/here/program\n",
    );
    const { out, err } = await fetching(folder, [...bad, whole], {
      ...LIMITS,
      DEBUGINFOD_TIMEOUT: "10",
    });
    assertStringIncludes(out, "1 files came; 100.00% of samples have a function", err);
    assertStringIncludes(await named(folder), "work");
    assert(!(await trust()).includes("what helps"));
    // Nothing else is left, except a download that can be continued.
    const kept = [...Deno.readDirSync(`${folder}/cache/${ID}`)].map(({ name }) => name);
    assertEquals(kept.filter((name) => !name.endsWith(".part")), ["debuginfo"]);
  }));

Deno.test("symbols fetch: a server that does not answer gives one line", () =>
  inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/perf.data`, await recording(ID));
    const { code, err } = await fetchFrom(folder, "http://127.0.0.1:9/");
    const lines = err.split("\n").filter((line) => line.includes("no debuginfo"));
    assertEquals([code, lines.length], [1, 1], err);
  }));

Deno.test("symbols fetch: an interrupted download is continued", () =>
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
        // The length is that of the whole file, but only half of it is sent.
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(RIGHT.slice(0, 150_000)),
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
    const first = await fetchFrom(folder, url, { DEBUGINFOD_TIMEOUT: "5" });
    assertMatch(first.err, /less than 100 KB came in 5 seconds/);
    const second = await fetchFrom(folder, url);
    await server.shutdown();
    assertStringIncludes(second.out, "1 files came; 100.00%", second.err);
    assertEquals(ranges, [null, "bytes=150000-"]);
    assertEquals(Deno.readFileSync(`${folder}/cache/${ID}/debuginfo`), RIGHT);
  }));

Deno.test("symbols fetch: a signal ends the download", () =>
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
    // The client is gone: nobody reads any more.
    await left.promise;
    await server.shutdown();
    const kept = [...Deno.readDirSync(`${folder}/cache/${ID}`)].map(({ name }) => name);
    assert(kept.every((name) => name.endsWith(".part")), kept.join());
  }));

Deno.test("symbols fetch: existing files are not requested, and a missing server is wrong usage", () =>
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

Deno.test("symbols fetch: several objects are requested by descending samples, each file once", () =>
  inFolder(async (folder) => {
    const ids = Array.from({ length: 6 }, (_, i) => ID.slice(0, -1) + String(i));
    // Samples of each object, which determine the order; two have the same build under two names.
    const samples = [3, 20, 1, 12, 7, 9];
    const objects = ids.map((buildId, i) => ({
      path: `/not/here/${i}`,
      buildId,
      samples: samples[i] ?? 0,
    }));
    const data = await mappedRecording(...objects, {
      path: "/again",
      buildId: ids[2] ?? "",
      samples: 2,
    });
    Deno.writeFileSync(`${folder}/perf.data`, data);
    const asked: string[] = [];
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      const [, id = "", kind = ""] = /buildid\/(\w+)\/(\w+)$/.exec(request.url) ?? [];
      asked.push(`${ids.indexOf(id)} ${kind}`);
      return kind === "debuginfo"
        ? new Response(program(id).slice())
        : new Response(null, { status: 404 });
    });
    const { out, err } = await fetchFrom(folder, `http://127.0.0.1:${server.addr.port}/`);
    await server.shutdown();
    assertStringIncludes(out, "6 files came; 100.00%", err);
    const order = [1, 3, 5, 4, 0, 2];
    assertEquals(
      asked.filter((text) => text.endsWith("debuginfo")),
      order.map((i) => `${i} debuginfo`),
    );
    assertEquals(new Set(asked).size, asked.length);
  }));

Deno.test("symbols fetch: an endless chain of supplementary files is abandoned", () =>
  inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/perf.data`, await recording(ID));
    let asked = 0;
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      const [, id = ""] = /buildid\/(\w+)\/debuginfo$/.exec(request.url) ?? [];
      if (id === "") return new Response(null, { status: 404 });
      if (++asked > 50) return new Response(null, { status: 404 });
      // The next one is another build, whatever was requested.
      const next = (BigInt(`0x${id}`) + 1n).toString(16).padStart(40, "0");
      return new Response(program(id, 0, next).slice());
    });
    const { out, err } = await fetchFrom(folder, `http://127.0.0.1:${server.addr.port}/`);
    await server.shutdown();
    assertEquals(asked, 2, err);
    assertStringIncludes(out, "2 files came; 100.00%");
  }));

/** Reason why a program with and without lines cannot be made. */
const noLines = notInstalled("gcc", "objcopy");

Deno.test({
  name: "symbols fetch --lines: a program with a symbol table gets source lines",
  ...ignored(noLines),
  fn: () =>
    inFolder(async (folder) => {
      const run = (command: string, ...args: string[]): string => {
        const { success, stdout } = new Deno.Command(command, { args, cwd: folder }).outputSync();
        assert(success, command);
        return new TextDecoder().decode(stdout);
      };
      Deno.writeTextFileSync(
        `${folder}/a.c`,
        "int work(void) {\n  return 1;\n}\nint main() { return work(); }\n",
      );
      run("gcc", "-g", "-O0", "-Wl,--build-id", "a.c", "-o", "whole");
      run("objcopy", "--strip-debug", "whole", "program");
      const buildId = buildIdOf(`${folder}/whole`);
      // Code of a position-independent program has its address in the file.
      const offset = BigInt(`0x${/^(\w+) T work$/m.exec(run("nm", "whole"))?.[1]}`);
      const data = await mappedRecording({ path: `${folder}/program`, buildId, offset });
      Deno.writeFileSync(`${folder}/perf.data`, data);
      const asked: string[] = [];
      const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
        asked.push(new URL(request.url).pathname);
        return new Response(Deno.readFileSync(`${folder}/whole`));
      });
      const url = `http://127.0.0.1:${server.addr.port}/`;
      const lines = async () =>
        (await tool("funcs", ["--csv", "--sort", "sym,srcline", "perf.data"], {
          cwd: folder,
          env: homeIn(folder),
        })).out;
      const without = await fetchFrom(folder, url);
      assertEquals([without.out, asked], ["nothing is missing that has a build id\n", []]);
      assertMatch(await lines(), /\bwork\b/);
      assert(!(await lines()).includes("a.c:1"));
      const { code, out, err } = await fetchFrom(folder, url, {}, ["--lines"]);
      await server.shutdown();
      assertEquals([code, asked], [0, [`/buildid/${buildId}/debuginfo`]], err);
      assertMatch(out, /^1 files came; 100\.00% of samples have a function/);
      assertMatch(await lines(), /\bwork\b.*\ba\.c:1\b/);
    }),
});

function buildIdOf(path: string): string {
  using source = openBinaryFile(path);
  return ElfFile.open(source).buildId() ?? "";
}

/** Reason why debuginfod cannot be run. */
const missing = notInstalled("debuginfod", "gcc");

Deno.test({
  name: "symbols fetch: a stripped program gets its symbols from Debian's debuginfod",
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
      const buildId = buildIdOf(path);
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
        // It answers once it has scanned the folder.
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
