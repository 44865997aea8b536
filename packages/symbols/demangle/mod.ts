/**
 * The demanglers of each scheme: Itanium C++ ABI, Rust legacy and Rust v0.
 *
 * @module
 */
export * from "./itanium.ts";
export * from "./rust_legacy.ts";
export * from "./rust_v0.ts";
export * from "./demangler.ts";
