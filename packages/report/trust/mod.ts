/** How far names of a recording can be trusted, and what helps where they are missing. */
export * from "./remedies.ts";
export * from "./trust_lines.ts";
export * from "./trust_text.ts";
