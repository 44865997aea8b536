/**
 * The struct language: on-disk structures as data. Decoder, encoder, TypeScript type, hexdump,
 * reference documentation, offsets, and the walk over fields without a fixed offset are all derived from one
 * declaration.
 */
export * from "./codec.ts";
export * from "./condition.ts";
export * from "./conditionals.ts";
export * from "./constants.ts";
export * from "./extensible.ts";
export * from "./layout.ts";
export * from "./numbers.ts";
export * from "./of_event.ts";
export * from "./probes.ts";
export * from "./sequences.ts";
export * from "./structure.ts";
export * from "./texts.ts";
export * from "./walk.ts";
