/**
 * An address as a `number`: the 64-bit value read as a **signed** integer.
 *
 * A kernel address such as `0xffffffff81000000` has no exact unsigned `number` (the spacing of f64
 * there is 2048), but the signed value `-0x7f000000` is exact. The same holds for every canonical
 * 48-bit address of either half, and every address of a 32-bit process. The order within each half
 * is kept; kernel addresses sort before user addresses.
 *
 * Exact for −2⁵³ … 2⁵³. A user address from 2⁵³ on (only with 5-level page tables and an explicit
 * `mmap` hint) would be rounded.
 */
export type Address = number;

/**
 * Joins the two 32-bit halves of an address.
 *
 * @param hi upper 32 bits, signed or unsigned
 * @param lo lower 32 bits, signed or unsigned
 *
 * @example
 * ```ts
 * import { addressFromHalves, addressToHex } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * const address = addressFromHalves(0xffffffff, 0x81000000);
 * assertEquals(address, -0x7f000000);
 * assertEquals(addressToHex(address), "0xffffffff81000000");
 * ```
 */
export function addressFromHalves(hi: number, lo: number): Address {
  return (hi | 0) * 4294967296 + (lo >>> 0);
}

/**
 * Converts a 64-bit value (as found in a decoded record) to an {@linkcode Address}.
 *
 * @example
 * ```ts
 * import { addressFromBigInt } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(addressFromBigInt(0x401000n), 0x401000);
 * assertEquals(addressFromBigInt(0xffffffffffffffffn), -1);
 * ```
 */
export function addressFromBigInt(value: bigint): Address {
  return Number(BigInt.asIntN(64, value));
}

/**
 * Converts an {@linkcode Address} to its unsigned 64-bit value.
 *
 * @example
 * ```ts
 * import { addressToBigInt } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(addressToBigInt(-1), 0xffffffffffffffffn);
 * ```
 */
export function addressToBigInt(address: Address): bigint {
  return BigInt.asUintN(64, BigInt(address));
}

/**
 * Formats an {@linkcode Address} as `0x…`, unsigned.
 *
 * @example
 * ```ts
 * import { addressToHex } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(addressToHex(0x401000), "0x401000");
 * ```
 */
export function addressToHex(address: Address): string {
  if (address >= 0) return "0x" + address.toString(16);
  const hi = Math.floor(address / 4294967296);
  const lo = address - hi * 4294967296;
  return "0x" + (hi >>> 0).toString(16).padStart(8, "0") + lo.toString(16).padStart(8, "0");
}
