import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { addressFromBigInt, addressFromHalves, addressToBigInt, addressToHex } from "./address.ts";

Deno.test("addressFromBigInt, addressToBigInt: canonical addresses of both halves round-trip", () => {
  const canonical = fc.bigInt({ min: 0n, max: (1n << 47n) - 1n }).chain((low) =>
    fc.constantFrom(low, BigInt.asUintN(64, low - (1n << 47n)))
  );
  fc.assert(fc.property(canonical, (value) => {
    const address = addressFromBigInt(value);
    assertEquals(addressToBigInt(address), value);
    assertEquals(addressFromHalves(Number(value >> 32n), Number(value & 0xffffffffn)), address);
    assertEquals(addressToHex(address), "0x" + value.toString(16));
  }));
});
