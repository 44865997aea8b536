import { assert, assertEquals } from "@std/assert";
import { noBrowser, withPage } from "../browser_testing.ts";
import { groupSamples } from "@perfdata/profile";
import { speedscope } from "./speedscope.ts";
import { plainSamples, profileOf, textOf, withFile } from "../testing.ts";
import { ignored } from "../../../tests/support/ignored.ts";

const SAMPLES = plainSamples(2000, 2);
const PROFILE = profileOf(SAMPLES);

Deno.test("speedscope: weights are periods, stacks those of the samples", async () => {
  const { shared, profiles } = JSON.parse(await textOf(speedscope(PROFILE))) as {
    shared: { frames: { name: string }[] };
    profiles: { endValue: number; samples: number[][]; weights: number[] }[];
  };
  const found: string[] = [];
  for (const { endValue, samples, weights } of profiles) {
    assertEquals(endValue, weights.reduce((sum, weight) => sum + weight, 0));
    for (const [i, sample] of samples.entries()) {
      found.push(JSON.stringify([sample.map((n) => shared.frames[n]?.name), weights[i]]));
    }
  }
  const expected = SAMPLES.map(({ stack, period }) =>
    JSON.stringify([stack.map((name) => name.replace(/^~/, "")), period])
  );
  assertEquals(found.sort(), expected.sort());
});

Deno.test("speedscope: a function of an object has one frame", async () => {
  const { shared } = JSON.parse(await textOf(speedscope(PROFILE))) as {
    shared: { frames: { name: string }[] };
  };
  const { functions } = PROFILE;
  const names = new Map<string, string>();
  for (const [number, name] of functions.name.entries()) {
    names.set(`${functions.object[number]} ${name}`, name);
  }
  assertEquals(shared.frames.map(({ name }) => name).sort(), [...names.values()].sort());
  // Some functions have several lines, or are inlined in some places.
  assert(names.size > 40 && PROFILE.frames.function.length > names.size);
  assert(functions.name.length > names.size);
});

/** Folder in which `npm install -g speedscope` puts the page. */
function speedscopePage(): string | undefined {
  let folder = Deno.env.get("PERFDATA_SPEEDSCOPE");
  try {
    folder ??= new TextDecoder().decode(
      new Deno.Command("npm", { args: ["root", "-g"], stderr: "null" }).outputSync().stdout,
    ).trim() + "/speedscope";
    const path = `${folder}/dist/release/index.html`;
    Deno.statSync(path);
    return path;
  } catch {
    return undefined;
  }
}

const page = speedscopePage();
const missing = page === undefined
  ? "speedscope is not installed (npm install -g speedscope)"
  : await noBrowser();

Deno.test(
  "speedscope: its page imports the profile, one thread after another",
  ignored(missing),
  async () => {
    const bytes = new TextEncoder().encode(await textOf(speedscope(PROFILE)));
    await withFile(
      "profile.speedscope.json",
      bytes,
      (path) =>
        withPage(page ?? "", async (page, { errors }) => {
          await page.setInputFiles("input#file", path);
          await page.waitForFunction('document.title !== "speedscope"');
          const text = await page.textContent("body") ?? "";
          const threads = Array.from(
            groupSamples(PROFILE),
            ({ thread }) => PROFILE.threads.comm(thread),
          );
          assertEquals(text.includes(threads[0] ?? "?"), true, text);
          assertEquals(text.includes(`(1/${threads.length})`), true, text);
          assertEquals(errors, []);
        }, { args: ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] }),
    );
  },
);
