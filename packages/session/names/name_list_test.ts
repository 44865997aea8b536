import { assertEquals, assertThrows } from "@std/assert";
import { nameList, namesSeen, numberList, splitEvents } from "./name_list.ts";

Deno.test("name list: commas in slashes (events) or brackets (symbols) separate nothing", () => {
  const events = nameList("cpu/event=0x3c,umask=0x1/u,sched:sched_switch,/^page-/", splitEvents);
  const isEvent = ["cpu/event=0x3c,umask=0x1/u", "sched:sched_switch", "page-faults"].map(events);
  assertEquals(isEvent, [true, true, true]);
  assertEquals(["cpu/event=0x3c", "umask=0x1/u", "cycles", "major-page-"].some(events), false);
  const symbols = nameList("std::map<int, int>::find,/^mem,?cpy$/i,main,operator>,a->b");
  const isSymbol = ["std::map<int, int>::find", "MEMCPY", "mem,cpy", "main", "operator>", "a->b"];
  assertEquals(isSymbol.map(symbols), isSymbol.map(() => true));
  assertEquals(["std::map<int", "memmove", "find"].some(symbols), false);
});

Deno.test("name list: a test knows whether a name matched, and those that did not", () => {
  const test = nameList("a,/^b/");
  assertEquals(namesSeen(test), { matched: false, others: new Set() });
  assertEquals([test("c"), test("bb")], [false, true]);
  assertEquals(namesSeen(test), { matched: true, others: new Set(["c"]) });
  assertEquals(namesSeen(undefined), undefined);
  assertThrows(() => nameList("/a(/"), RangeError, "/a(/: ");
});

Deno.test("number list: numbers and ranges give a set, others throw", () => {
  assertEquals([...numberList("3,0-2,2")].sort(), [0, 1, 2, 3]);
  for (const text of ["", "1,", "2-1", "-1", "a", "0-9999999"]) {
    assertThrows(
      () => numberList(text),
      RangeError,
      `${text}, expected numbers such as 0,3 or 0-3`,
    );
  }
});
