/** How far names of a recording can be trusted, and remedies for missing names. */
export * from "./remedies.ts";
export * from "./trust_lines.ts";
export * from "./trust_text.ts";
