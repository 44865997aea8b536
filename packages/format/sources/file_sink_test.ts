import { assertEquals, assertThrows } from "@std/assert";
import { newFile, NOT_A_FILE } from "./file_sink.ts";

Deno.test("newFile: commit gives the final name, and replaces a file only with force", () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-sink-" });
  const names = () => Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();
  const path = `${folder}/out`;
  try {
    {
      using file = newFile(path);
      file.write(Uint8Array.of(1, 2));
      assertEquals(names().includes("out"), false);
      file.commit();
    }
    assertEquals(names(), ["out"]);
    assertThrows(() => newFile(path), Deno.errors.AlreadyExists);
    {
      using file = newFile(path, { force: true });
      file.write(Uint8Array.of(3));
    }
    assertEquals([names(), Deno.readFileSync(path)], [["out"], Uint8Array.of(1, 2)]);
    {
      using file = newFile(path, { force: true });
      file.write(Uint8Array.of(3));
      file.writeAt(Uint8Array.of(4), 0);
      file.commit();
    }
    assertEquals([names(), Deno.readFileSync(path)], [["out"], Uint8Array.of(4)]);
    Deno.symlinkSync(path, `${folder}/link`);
    assertThrows(() => newFile(`${folder}/link`, { force: true }), Deno.errors.AlreadyExists);
    assertThrows(() => newFile(folder, { force: true }), Deno.errors.AlreadyExists, NOT_A_FILE);
    {
      using file = newFile("/dev/null");
      file.write(Uint8Array.of(1));
      file.commit();
    }
    assertEquals(Deno.lstatSync("/dev/null").isFile, false);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("newFile: an interrupted process leaves no file", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-sink-" });
  try {
    const module = new URL("./file_sink.ts", import.meta.url).href;
    const script = `${folder}/script.ts`;
    Deno.writeTextFileSync(
      script,
      `import { newFile } from "${module}";
       newFile("${folder}/out").write(Uint8Array.of(1));
       console.log("ready");
       await new Promise((resolve) => setTimeout(resolve, 60_000));`,
    );
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", script],
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.getReader();
    await reader.read();
    assertEquals(Array.from(Deno.readDirSync(folder)).length, 2);
    child.kill("SIGINT");
    const { code } = await child.status;
    await reader.cancel();
    assertEquals(code, 130);
    assertEquals(Array.from(Deno.readDirSync(folder), ({ name }) => name), ["script.ts"]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
