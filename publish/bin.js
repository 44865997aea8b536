#!/usr/bin/env node
// Starts the commands of perfdata, which run on Deno with the permissions that they need and no more: by the
// `deno` on the PATH, by the one that npm has installed beside this package, or by one that npx fetches.
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

/** What `deno run` is given: the permissions, as in `deno.json` of the repository. */
const PERMISSIONS = [/*PERMISSIONS*/];
/** The version of Deno that the commands were tested with, and the oldest one that they run on. */
const DENO = "/*DENO*/";
const OLDEST = [2, 9];

const cli = (path) => fileURLToPath(new URL(`../cli/${path}`, import.meta.url));

/** Whether the `deno` on the PATH is new enough. */
function isThere() {
  const { stdout } = spawnSync("deno", ["--version"], { encoding: "utf8" });
  const [, major, minor] = /^deno (\d+)\.(\d+)/.exec(stdout ?? "") ?? [];
  return +major > OLDEST[0] || (+major === OLDEST[0] && +minor >= OLDEST[1]);
}

/** The `deno` of npm beside this package. */
function beside() {
  try {
    return createRequire(import.meta.url).resolve("deno/bin.cjs");
  } catch {
    return undefined;
  }
}

/** A program, and what it is given before Deno's own arguments. */
function runtime() {
  if (isThere()) return ["deno"];
  const path = beside();
  return path === undefined ? ["npx", "-y", `deno@${DENO}`] : [process.execPath, path];
}

const [program, ...first] = runtime();
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
// A terminal sends Ctrl-C to both; what is sent to this process alone goes on to the other one.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
}
child.on("error", (error) => {
  console.error(`perfdata: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
