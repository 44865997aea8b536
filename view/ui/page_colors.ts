/** Colors of the page, from the style for the current scheme. */
export interface PageColors {
  readonly back: string;
  readonly text: string;
  readonly soft: string;
  readonly line: string;
  readonly mark: string;
  readonly accent: string;
  readonly heat: string;
}

/** Returns the colors of the current scheme. */
export function pageColors(): PageColors {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    back: of("back"),
    text: of("text"),
    soft: of("soft"),
    line: of("line"),
    mark: of("mark"),
    accent: of("accent"),
    heat: of("heat"),
  };
}
