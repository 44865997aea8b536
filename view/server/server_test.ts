import { assert, assertEquals, assertMatch } from "@std/assert";
import { plainSamples, profileOf } from "../../packages/export/testing.ts";
import { fileSource } from "@perfdata/format/files";
import { unpack, viewProfile } from "@perfdata/export/tree";
import { RecordingService } from "../recording/recording_service.ts";
import { serverSource } from "../worker/worker_source.ts";
import { newToken, viewHandler } from "./server.ts";

const FILE = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;
const PROFILE = viewProfile(profileOf(plainSamples(3000, 3)));

/** Runs a server on this machine during `use`. */
async function served(
  use: (about: { readonly port: number; readonly token: string }) => Promise<void>,
): Promise<void> {
  const token = newToken();
  using source = fileSource(FILE);
  const handler = viewHandler({
    token,
    page: "<!DOCTYPE html><title>page</title>",
    recording: new RecordingService(source, FILE),
    profile(progress) {
      progress({ what: "Reading", unit: "bytes", done: 1, total: 2 });
      return Promise.resolve(PROFILE);
    },
  });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, handler);
  try {
    await use({ port: server.addr.port, token });
  } finally {
    await server.shutdown();
  }
}

/** Sends raw bytes, which client libraries would not, and reads the status and the text. */
async function raw(port: number, request: string): Promise<{ status: number; text: string }> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(request));
  const text = await new Response(connection.readable, {}).text();
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text };
}

Deno.test("viewHandler: answers only GET requests for its own path and host", async () => {
  await served(async ({ port, token }) => {
    const get = (path: string, { host = `127.0.0.1:${port}`, method = "GET", more = "" } = {}) =>
      raw(port, `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`);
    const page = await get(`/${token}/`);
    assertEquals(page.status, 200);
    for (const name of ["index", "info", "profile", "record?number=3", "records?from=0&count=5"]) {
      assertEquals((await get(`/${token}/${name}`)).status, 200, name);
    }
    const secret = "perf record";
    const refused: readonly (readonly [number, Parameters<typeof get>])[] = [
      [404, ["/"]],
      [404, [`/${token}`]],
      [404, ["/index"]],
      [404, [`/${token.slice(1)}/index`]],
      [404, [`/${newToken()}/index`]],
      [404, [`/${token.toUpperCase()}x/index`]],
      [404, [`/${token}/nothing`]],
      [404, [`/${token}/index/`]],
      [404, [`/${token}/../../etc/passwd`]],
      [404, [`/${token}/%2e%2e/%2e%2e/etc/passwd`]],
      [404, [`/${token}/..%2f..%2fetc%2fpasswd`]],
      [404, [`//${token}/index`]],
      [403, [`/${token}/index`, { host: "evil.example" }]],
      [403, [`/${token}/index`, { host: `evil.example:${port}` }]],
      [403, [`/${token}/index`, { host: `127.0.0.1.evil.example:${port}` }]],
      [403, [`/${token}/index`, { more: "Origin: https://evil.example\r\n" }]],
      [403, [`/${token}/index`, { more: "Origin: null\r\n" }]],
      [405, [`/${token}/index`, { method: "POST", more: "Content-Length: 0\r\n" }]],
      [405, [`/${token}/index`, { method: "PUT", more: "Content-Length: 0\r\n" }]],
      [405, [`/${token}/index`, { method: "DELETE" }]],
      [405, [`/${token}/index`, { method: "OPTIONS" }]],
      [404, [`/${token}/base`]],
      [400, [`/${token}/code?query=%7B%22fn%22:%22main%22,%22event%22:0%7D`]],
      [400, [`/${token}/code?query=%7B%22fn%22:1,%22event%22:0,%22from%22:%22x%22%7D`]],
      [404, [`/${token}/code?query=%7B%22fn%22:1,%22event%22:0%7D`]],
      // This recording has no Intel PT.
      [404, [`/${token}/pt-part?query=%7B%22from%22:0,%22to%22:1%7D`]],
      [404, [`/${token}/pt-insns`]],
      [400, [`/${token}/slice?query=%5B%5D`]],
      [400, [`/${token}/slice?query=%7B%22tids%22:%228%22%7D`]],
      [400, [`/${token}/records?query=%5B1%5D&from=0&count=5`]],
      [400, [`/${token}/records?query={&from=0&count=5`]],
      [400, [`/${token}/records?query=%7B%22from%22:%22x%22%7D&from=0&count=5`]],
    ];
    for (const [status, args] of refused) {
      const answer = await get(...args);
      assertEquals(answer.status, status, JSON.stringify(args));
      assert(!answer.text.includes(secret) && !answer.text.includes("root:"), answer.text);
    }
    for (const header of ["cache-control: no-store", "x-content-type-options: nosniff"]) {
      assert(page.text.toLowerCase().includes(header), header);
    }
    assertMatch(page.text, /referrer-policy: no-referrer/i);
    assertEquals(/access-control-allow/i.test(page.text), false);
  });
});

Deno.test("serverSource: returns the data of the server", async () => {
  await served(async ({ port, token }) => {
    const source = serverSource({
      address: `http://127.0.0.1:${port}/${token}/`,
      compared: false,
    });
    const states: unknown[] = [];
    const profile = await source.profile((state) => states.push(state));
    // The JSON text omits undefined fields.
    assertEquals({ notes: undefined, ...profile }, PROFILE);
    assertEquals(states, [{ what: "Reading", unit: "bytes", done: 1, total: 2 }]);
    const index = await source.index();
    assertEquals(index?.types.find(({ name }) => name === "SAMPLE")?.count, 13);
    const { rows, count } = await source.records({ types: ["SAMPLE"] }, 2, 5);
    assertEquals([count, rows.length], [13, 5]);
    const number = rows[0]?.number ?? -1;
    assertEquals(await source.position({ types: ["SAMPLE"] }, number), 2);
    const detail = await source.record(number);
    assertEquals(detail?.row, rows[0]);
    const bytes = Deno.readFileSync(FILE);
    const from = detail?.row.offset ?? 0;
    assertEquals(detail?.bytes, bytes.subarray(from, from + (detail?.row.size ?? 0)));
    assertEquals(await source.record(1e9), undefined);
    assertMatch((await source.info())?.lines[0] ?? "", /^machine +fixture-host/);
  });
});

Deno.test("viewHandler: an error while reading is sent as a frame", async () => {
  const handler = viewHandler({
    token: "t",
    page: "",
    recording: undefined,
    profile: () => Promise.reject(new Error("x: no samples")),
  });
  const ask = (path: string) =>
    handler(new Request(`http://127.0.0.1:1/t/${path}`, { headers: { host: "127.0.0.1:1" } }));
  const bytes = new Uint8Array(await (await ask("profile")).arrayBuffer());
  assertEquals([bytes[0], new TextDecoder().decode(bytes.subarray(5))], [2, '"x: no samples"']);
  assertEquals((await ask("record?number=1")).status, 404);
  assertEquals(unpack(new Uint8Array(await (await ask("index")).arrayBuffer())), null);
});

Deno.test("viewHandler: a profile without waiting requests is cancelled, and made again on request", async () => {
  let [started, given] = [0, 0];
  const handler = viewHandler({
    token: "t",
    page: "",
    recording: undefined,
    async profile(progress) {
      started++;
      try {
        // Continues until no request listens.
        for (let done = 0; started === 1; done++) {
          progress({ what: "Reading", unit: "bytes", done, total: 0 });
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      } catch (error) {
        given++;
        throw error;
      }
      return PROFILE;
    },
  });
  const ask = () =>
    handler(
      new Request("http://127.0.0.1:1/t/profile", { headers: { host: "127.0.0.1:1" } }),
    );
  const reader = (await ask()).body?.getReader();
  assertEquals((await reader?.read())?.value?.[0], 0);
  await reader?.cancel();
  while (given === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  // Let the server forget the cancelled profile.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const bytes = new Uint8Array(await (await ask()).arrayBuffer());
  assertEquals([started, given, bytes[0]], [2, 1, 1]);
});
