import { assertEquals, assertThrows } from "@std/assert";
import { parseWanted } from "./wanted_function.ts";

Deno.test("wanted function: a name, an expression, an address and a place in the source", () => {
  assertEquals(parseWanted("0x401136"), { by: "address", address: 0x401136n });
  assertEquals(parseWanted("lib/parse.c:120"), { by: "line", file: "lib/parse.c", line: 120 });
  const matches = (text: string, ...names: string[]) => {
    const wanted = parseWanted(text);
    return wanted.by === "name" ? names.map((name) => wanted.test(name)) : wanted;
  };
  assertEquals(matches("main", "main", "main2"), [true, false]);
  assertEquals(matches("/^parse_/i", "PARSE_line", "a_parse_"), [true, false]);
  // A method has two colons, and no line.
  assertEquals(matches("Server::run", "Server::run"), [true]);
  assertEquals(matches("a::1", "a::1"), [true]);
  assertThrows(() => parseWanted("/a(/"), RangeError, "/a(/: ");
});
