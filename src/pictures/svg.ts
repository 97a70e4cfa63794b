import { seriesColours } from "./colour.ts";
import { escaped } from "./escape.ts";
import { cellsOf, prose } from "./label.ts";
import { rounded } from "./number.ts";

// A picture is text. Colours stand in attributes for light paper, which every renderer understands; a style sheet repaints
// by class where the reader prefers dark.

export type Attributes = Readonly<Record<string, string | number>>;

/** An element; strings among its attributes are escaped, its children are markup already. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === "number" ? rounded(value) : escaped(value)}"`,
  );
  const open = `<${name}${written.join("")}`;
  return children.length === 0 ? `${open}/>` : `${open}>${children.join("")}</${name}>`;
}

export const group = (attributes: Attributes, ...children: readonly string[]): string => element("g", attributes, ...children);

/** What a pointer resting on the surrounding element shows, and a screen reader says. */
export const hover = (content: string): string => element("title", {}, escaped(content));

/** A name for each part whose colour depends on the paper. */
const paints = {
  paper: { kind: "fill", light: "#ffffff", dark: "#15171c" },
  ink: { kind: "fill", light: "#1f2328", dark: "#e6e8eb" },
  soft: { kind: "fill", light: "#59636e", dark: "#a2a9b4" },
  blank: { kind: "fill", light: "#f1f2f4", dark: "#23262d" },
  line: { kind: "stroke", light: "#8c959f", dark: "#6b737e" },
  faint: { kind: "stroke", light: "#dfe2e6", dark: "#30343c" },
} as const;

/** The attributes of a part in its colour: `{ ...paint("ink") }`. */
export const paint = (name: keyof typeof paints): Attributes => ({ class: name, [paints[name].kind]: paints[name].light });

const seriesOf = (index: number) => index % seriesColours.length;
export const seriesFill = (index: number): Attributes => ({ class: `fill-${seriesOf(index)}`, fill: seriesColours[seriesOf(index)].light });
export const seriesStroke = (index: number): Attributes => ({
  class: `stroke-${seriesOf(index)}`,
  stroke: seriesColours[seriesOf(index)].light,
});

const onDark = [
  ...Object.entries(paints).map(([name, { kind, dark }]) => `.${name}{${kind}:${dark}}`),
  ...seriesColours.map(({ dark }, index) => `.fill-${index}{fill:${dark}}.stroke-${index}{stroke:${dark}}`),
].join("");

export interface TextPlace {
  readonly x: number;
  readonly y: number;
  readonly size?: number;
  readonly anchor?: "start" | "middle" | "end";
  readonly paint?: "ink" | "soft";
  /** Degrees, clockwise. */
  readonly turn?: number;
  readonly bold?: boolean;
}

/** A line of text; y is the middle of its small letters, since not every renderer knows other baselines. */
export function text(
  content: string,
  { x, y, size = 12, anchor = "start", paint: name = "ink", turn = 0, bold = false }: TextPlace,
): string {
  const drop = 0.36 * size;
  const place: Attributes =
    turn === 0 ? { x, y: y + drop } : { transform: `translate(${rounded(x)} ${rounded(y)}) rotate(${turn})`, y: drop };
  const style: Attributes = { ...(anchor === "start" ? {} : { "text-anchor": anchor }), ...(bold ? { "font-weight": "bold" } : {}) };
  return element("text", { ...place, "font-size": size, ...style, ...paint(name) }, escaped(content));
}

const headingSize = 15;

/** The title above a picture. */
export const heading = (title: string): string => text(prose(title, 80), { x: 16, y: 22, size: headingSize, bold: true });

/** The width that a picture needs for its title. */
export const headingWidth = (title: string): number => 32 + textWidth(cellsOf(prose(title, 80)), headingSize);

/** About how wide a line of text gets, whatever the font. */
export const textWidth = (cells: number, size: number): number => 0.62 * size * cells;

export interface Sheet {
  readonly width: number;
  readonly height: number;
  /** What the picture shows, in words. */
  readonly title: string;
}

/** The whole file. */
export function sheet({ width, height, title }: Sheet, ...body: readonly string[]): string {
  const size = { width: Math.ceil(width), height: Math.ceil(height) };
  const root = {
    xmlns: "http://www.w3.org/2000/svg",
    ...size,
    viewBox: `0 0 ${size.width} ${size.height}`,
    role: "img",
    "aria-label": title,
    "font-family": "system-ui, sans-serif",
  };
  const style = element("style", {}, `@media (prefers-color-scheme:dark){${onDark}}`);
  return `${element("svg", root, hover(title), style, element("rect", { ...size, ...paint("paper") }), ...body.map((part) => `\n${part}`))}\n`;
}
