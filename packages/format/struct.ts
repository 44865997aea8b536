/**
 * The struct language: on-disk structures as data. Decoder, encoder, TypeScript type, hexdump,
 * reference documentation, offsets and the walk over fields without a fixed place come from one declaration.
 */
export * from "./struct/codec.ts";
export * from "./struct/condition.ts";
export * from "./struct/conditionals.ts";
export * from "./struct/constants.ts";
export * from "./struct/extensible.ts";
export * from "./struct/layout.ts";
export * from "./struct/numbers.ts";
export * from "./struct/of_event.ts";
export * from "./struct/probes.ts";
export * from "./struct/sequences.ts";
export * from "./struct/shape.ts";
export * from "./struct/structure.ts";
export * from "./struct/texts.ts";
export * from "./struct/walk.ts";
