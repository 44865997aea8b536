/** Trust in the names of a recording, and remedies for missing names. */
export * from "./remedies.ts";
export * from "./trust_lines.ts";
export * from "./trust_text.ts";
