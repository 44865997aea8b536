/**
 * Demanglers, one by one: the Itanium C++ ABI and both of Rust.
 *
 * @module
 */
export * from "./itanium.ts";
export * from "./rust_legacy.ts";
export * from "./rust_v0.ts";
export * from "./demangler.ts";
