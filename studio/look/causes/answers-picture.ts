import { shortened } from "../../../src/pictures/label.ts";
import { percent } from "../../../src/pictures/number.ts";
import { element, heading, headingWidth, seriesFill, sheet, text } from "../../../src/pictures/svg.ts";

export interface AnswersPicture {
  readonly title: string;
  readonly candidates: readonly { readonly name: string; readonly before: number; readonly after: number }[];
  /** What was changed. */
  readonly notes: readonly string[];
}

const [pitch, left, whole] = [28, 120, 320];

/** The answers before and after what was changed, as an SVG. */
export function answersPicture({ title, candidates, notes }: AnswersPicture): string {
  const top = 44;
  const rows = candidates.map(({ name, before, after }, i) => {
    const y = top + i * pitch;
    const bar = (value: number, index: number) =>
      element("rect", { x: left, y: y + 10 * index, width: Math.max(1, whole * value), height: 8, ...seriesFill(index) });
    return (
      text(shortened(name, 14), { x: left - 8, y: y + 9, size: 12, anchor: "end" }) +
      bar(before, 0) +
      bar(after, 1) +
      text(`${percent(before)} → ${percent(after)}`, { x: left + whole + 8, y: y + 9, size: 11, paint: "soft" })
    );
  });
  const below = top + rows.length * pitch + 16;
  return sheet(
    { width: Math.max(left + whole + 130, headingWidth(title)), height: below + 16 * notes.length + 8, title },
    heading(title),
    ...rows,
    ...notes.map((note, i) => text(note, { x: 16, y: below + 16 * i, size: 10, paint: "soft" })),
  );
}
