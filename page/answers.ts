import { alignedPercent } from "../src/pictures/number.ts";
import type { PageAnswers } from "../src/pictures/page-data.ts";
import { create, part, perFrame } from "./dom.ts";
import type { Viewer } from "./state.ts";
import { named } from "./words.ts";

// What the model answers at the chosen position, and what it would answer after each layer (the logit lens).

const shownOfLens = 3;

interface Candidate {
  readonly word: string;
  readonly probability: number;
}

export function answers(viewer: Viewer): void {
  const section = part("answers", HTMLElement);
  viewer.whenSpotChanges(
    perFrame(() => {
      const { answers: given, spot, look } = viewer;
      section.hidden = given === undefined;
      if (given === undefined) return;
      const position = given.of === "label" ? 0 : (spot.query ?? given.rows[0].positions.length - 1);
      const last = given.rows[given.rows.length - 1];
      const name = named(look.targetTokens, position);
      part("answer-title", HTMLHeadingElement).textContent =
        given.of === "label" ? "The label of the text" : given.of === "tag" ? `The tag of ${name}` : titleOfNext(viewer, position, name);
      part("next", HTMLTableElement).replaceChildren(...bars(candidatesOf(given, last.positions[position])));
      part("lens-part", HTMLElement).hidden = given.rows.length < 2;
      part("lens", HTMLTableElement).replaceChildren(...lens(given, position));
    }),
  );
}

/** A row of cross-attention is labelled with what is said there, so the answer there is that token itself. */
const titleOfNext = ({ look }: Viewer, position: number, name: string): string =>
  look.kind === "cross" ? `What is said at place ${position}` : `What comes after ${name}`;

function candidatesOf({ words }: PageAnswers, flat: readonly number[] = []): Candidate[] {
  return Array.from({ length: flat.length / 2 }, (_, i) => ({ word: words[flat[2 * i]], probability: flat[2 * i + 1] }));
}

const bars = (candidates: readonly Candidate[]): HTMLElement[] =>
  candidates.map(({ word, probability }) => {
    const bar = create("span", { class: "bar" });
    bar.style.setProperty("--share", `${probability}`);
    return create(
      "tr",
      {},
      create("th", { scope: "row", class: "token" }, create("bdi", {}, word)),
      create("td", {}, bar),
      create("td", { class: "number" }, alignedPercent(probability)),
    );
  });

function lens(given: PageAnswers, position: number): HTMLElement[] {
  return given.rows.map(({ name, positions }) => {
    const cells = candidatesOf(given, positions[position])
      .slice(0, shownOfLens)
      .map(({ word, probability }) => {
        const cell = create(
          "td",
          {},
          create("bdi", { class: "token" }, word),
          create("span", { class: "number" }, ` ${alignedPercent(probability)}`),
        );
        cell.style.setProperty("--share", `${probability}`);
        return cell;
      });
    return create("tr", {}, create("th", { scope: "row" }, name), ...cells);
  });
}
