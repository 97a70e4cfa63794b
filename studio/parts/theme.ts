import { effect, signal } from "@preact/signals";
import { keep, kept } from "../stores/kept.ts";

// Light or dark: as the system has it, until somebody chooses.

export type Theme = "light" | "dark";

const key = "qkv-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

const chosen = (): Theme | undefined => {
  const word = kept(key);
  return word === "light" || word === "dark" ? word : undefined;
};

export const theme = signal<Theme>(chosen() ?? (system.matches ? "dark" : "light"));

system.addEventListener("change", () => {
  if (!chosen()) theme.value = system.matches ? "dark" : "light";
});

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

export function choose(next: Theme): void {
  keep(key, next);
  theme.value = next;
}

/** A colour of the style sheet, as it is now. Whoever draws on a canvas reads `theme.value` too, to draw again when it changes. */
export const colourOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** The colour of the n-th line of a chart. */
export const seriesColour = (index: number): string => colourOf(`series-${(index % 6) + 1}`);
