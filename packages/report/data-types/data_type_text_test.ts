import { assertEquals } from "@std/assert";
import { isTypeCalled, unknownTypesText } from "./data_type_text.ts";
import { TypeSums } from "./type_sums.ts";

Deno.test("data types: a type goes by its name with or without its kind", () => {
  const names = ["page", "struct page", "union page", "pages"];
  assertEquals(names.map((name) => isTypeCalled("struct page", name)), [true, true, false, false]);
});

Deno.test("data types: samples without a type are reported by cause, largest first", () => {
  const none = new TypeSums().without;
  const total = { samples: 10, period: 1000 };
  assertEquals(
    unknownTypesText({ without: none, total }),
    "the type of data is known for 100.00% of the samples",
  );
  const without = new Map(none).set("no code", { samples: 1, period: 100 })
    .set("stack", { samples: 3, period: 250 });
  assertEquals(
    unknownTypesText({ without, total }),
    "the type of data is known for 65.00% of the samples; without: stack without a variable 25.00%, no code 10.00%",
  );
});
