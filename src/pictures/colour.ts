// Colours by table. Both scales change evenly in lightness and can be told apart with any kind of colour vision; their
// marks are near enough to each other that straight lines between them keep that.

export type Rgb = readonly [red: number, green: number, blue: number];

/** Viridis: from nothing (dark violet) to much (yellow). */
const sequential = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"].map(rgbOf);
/** Blue, white, orange: below, at and above zero; equally far from it, equally light (L* 97, 84, 71, 58, 45, 32). */
const diverging = [
  "#034d87",
  "#036dbb",
  "#498edf",
  "#8bafeb",
  "#c2d2f3",
  "#f6f6f6",
  "#f3c9ae",
  "#e1a073",
  "#c7783c",
  "#a85302",
  "#793a01",
].map(rgbOf);

/** Lines and marks that belong together (Okabe and Ito), on light and on dark paper. */
export const seriesColours: readonly { readonly light: string; readonly dark: string }[] = [
  { light: "#0072b2", dark: "#56b4e9" },
  { light: "#d55e00", dark: "#ff9a4d" },
  { light: "#007a5c", dark: "#2fc79a" },
  { light: "#b0548a", dark: "#e39ac4" },
  { light: "#8a6d00", dark: "#e8cf4a" },
  { light: "#4d4d4d", dark: "#c4c4c4" },
];

export function rgbOf(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export type ColourTable = "sequential" | "diverging";

/** The colour at a place between 0 and 1. */
export function colourAt(table: ColourTable, place: number): Rgb {
  const marks = table === "sequential" ? sequential : diverging;
  const position = Math.min(1, Math.max(0, place)) * (marks.length - 1);
  const index = Math.min(marks.length - 2, Math.floor(position));
  const [from, to, share] = [marks[index], marks[index + 1], position - index];
  const mix = (channel: 0 | 1 | 2) => Math.round(from[channel] + share * (to[channel] - from[channel]));
  return [mix(0), mix(1), mix(2)];
}

export const hex = (colour: Rgb): string => `#${colour.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;

/** Black or white, whichever is read more easily on a colour. */
export const inkOn = ([red, green, blue]: Rgb): string => (0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff");
