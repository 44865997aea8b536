import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { emptyTableToken, Label, Profile, Sample, StringTable } from "pprof-format";
import { MessageBytes } from "./message_bytes.ts";

const number = fc.oneof(fc.nat(300), fc.maxSafeNat(), fc.constantFrom(2 ** 31, 2 ** 32, 2 ** 62));
/** Negative numbers occur in pprof profiles of differences. */
const signed = fc.oneof(number, fc.maxSafeInteger(), fc.constantFrom(-1, -(2 ** 31), -(2 ** 53)));

Deno.test("MessageBytes: messages equal those of pprof-format", () => {
  const sample = fc.record({
    locationId: fc.array(number, { maxLength: 300, size: "max" }),
    value: fc.array(signed, { minLength: 1 }),
    label: fc.array(fc.record({ key: number, str: number, num: number })),
  });
  fc.assert(
    fc.property(fc.array(sample, { maxLength: 20 }), (samples) => {
      const expected = new Profile({
        stringTable: new StringTable(emptyTableToken),
        sample: samples.map(({ label, ...rest }) =>
          new Sample({ ...rest, label: label.map((fields) => new Label(fields)) })
        ),
      }).encode();
      const bytes = new MessageBytes();
      for (const { locationId, value, label } of samples) {
        const message = bytes.open(2);
        for (const [field, numbers] of [[1, locationId], [2, value]] as const) {
          if (numbers.length === 0) continue;
          const packed = bytes.open(field);
          for (const value of numbers) bytes.number(value);
          bytes.close(packed);
        }
        for (const { key, str, num } of label) {
          const inner = bytes.open(3);
          bytes.field(1, key);
          bytes.field(2, str);
          bytes.field(3, num);
          bytes.close(inner);
        }
        bytes.close(message);
      }
      assertEquals(bytes.take(), expected as Uint8Array<ArrayBuffer>);
    }),
    { numRuns: 200 },
  );
});

Deno.test("MessageBytes: a message larger than a chunk is written whole", () => {
  const bytes = new MessageBytes();
  const message = bytes.open(1);
  for (let i = 0; i < 1 << 20; i++) bytes.number(1);
  bytes.close(message);
  const taken = bytes.take();
  assertEquals([...taken.subarray(0, 5)], [0x0a, 0x80, 0x80, 0x40, 1]);
  assertEquals(taken.length, (1 << 20) + 4);
});
