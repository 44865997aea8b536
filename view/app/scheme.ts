/** Color schemes: "" follows the system. */
const SCHEMES = ["", "dark", "light"] as const;

/** Switches to the next color scheme. */
export function nextScheme(): void {
  const root = document.documentElement;
  const at = SCHEMES.findIndex((scheme) => scheme === (root.dataset["scheme"] ?? ""));
  const next = SCHEMES[(at + 1) % SCHEMES.length] ?? "";
  if (next === "") delete root.dataset["scheme"];
  else root.dataset["scheme"] = next;
  dispatchEvent(new Event("perfdata-scheme"));
}
