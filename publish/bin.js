#!/usr/bin/env node
// Starts the commands of perfdata, which run on Deno with the permissions that they need and no more: by the
// `deno` that npm has installed beside this package, by the one on the PATH, or by one that npx fetches.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What `deno run` is given: the permissions, as in `deno.json` of the repository. */
const PERMISSIONS = [/*PERMISSIONS*/];
/** The version of Deno that the commands were tested with, and the oldest one that they run on. */
const DENO = "/*DENO*/";
const OLDEST = [2, 9];

const cli = (path) => fileURLToPath(new URL(`../cli/${path}`, import.meta.url));

/** The `deno` that npm has installed beside this package, if it is new enough. */
function beside() {
  const require = createRequire(import.meta.url);
  try {
    const manifest = require.resolve("deno/package.json");
    if (!isNewEnough(require(manifest).version)) return undefined;
    // Its own script copies the program there when it runs for the first time.
    const program = join(dirname(manifest), process.platform === "win32" ? "deno.exe" : "deno");
    return existsSync(program) ? [program] : [process.execPath, require.resolve("deno/bin.cjs")];
  } catch {
    return undefined;
  }
}

/** Whether a version is {@link OLDEST} or later. */
function isNewEnough(version) {
  const [major, minor] = version.split(".");
  return +major > OLDEST[0] || (+major === OLDEST[0] && +minor >= OLDEST[1]);
}

/** The error line about a `deno` on the PATH that is too old; undefined otherwise. */
function tooOld() {
  const { stdout } = spawnSync("deno", ["--version"], { encoding: "utf8" });
  const [, version] = /^deno (\d+\.\d+\S*)/.exec(stdout ?? "") ?? [];
  return version === undefined || isNewEnough(version)
    ? undefined
    : `perfdata: the Deno on the PATH is ${version}, expected ${OLDEST.join(".")} or later: ` +
      "run `deno upgrade`, or `npm install deno` beside perfdata";
}

/** Runs the commands by the first of these programs that exists. */
function start([[program, ...first], ...others]) {
  const child = spawn(program, [
    ...first,
    "run",
    "--no-prompt",
    `--config=${cli("deno.json")}`,
    "--frozen",
    ...PERMISSIONS,
    cli("tools/perfdata.ts"),
    ...process.argv.slice(2),
  ], { stdio: "inherit" });
  running = child;
  child.on("error", (error) => {
    if (error.code === "ENOENT" && others.length > 0) return start(others);
    console.error(`perfdata: ${program} cannot be started: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    // Only after a failure, since the question starts one more process.
    const reason = code !== 0 && program === "deno" ? tooOld() : undefined;
    if (reason !== undefined) console.error(reason);
    process.exit(code ?? 128 + constants.signals[signal]);
  });
}

let running;
// A terminal sends Ctrl-C to both; what is sent to this process alone goes on to the other one.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => signal !== "SIGINT" && running.kill(signal));
}
const installed = beside();
start(installed === undefined ? [["deno"], ["npx", "-y", `deno@${DENO}`]] : [installed]);
