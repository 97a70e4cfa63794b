import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recipes } from "../src/recipes/index.ts";
import { studyPictures } from "../src/studies/breakdowns.ts";
import { studies } from "../src/studies/index.ts";
import { readResults } from "../src/studies/results.ts";
import { studyTable } from "../src/studies/table.ts";

// The results that the docs show are those that a study wrote: nobody changed a number by hand, and no row is left out.

const docs = join(import.meta.dirname, "../docs");
const page = readFileSync(join(docs, "recipes.md"), "utf8");

describe.each(studies)("docs/results/$name", (study) => {
  const folder = join(docs, "results", study.name);
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  const { minutes, steps } = JSON.parse(read("results.json"));

  it("has every row, with its figures", async () => {
    const { rows } = await readResults(folder, study, { minutes, steps });
    expect(Object.keys(rows).toSorted()).toEqual(study.rows.map(({ name }) => name).toSorted());
    for (const { figures, failed } of Object.values(rows)) expect([Object.keys(figures).length > 0, failed]).toEqual([true, undefined]);
  });

  it("has the table and the pictures of its results, and the page shows them", async () => {
    const results = await readResults(folder, study, { minutes, steps });
    const table = studyTable(study, results);
    expect(read("table.md")).toBe(table);
    expect(page).toContain(/^\|(.|\n\|)*/m.exec(table)?.[0]);
    const pictures = studyPictures(study, results);
    for (const { file, svg } of pictures) expect(read(file) === svg, file).toBe(true);
    expect(readdirSync(folder).toSorted()).toEqual(["results.json", "table.md", ...pictures.map(({ file }) => file)].toSorted());
    for (const { file } of pictures) if (page.includes(file)) expect(page).toContain(`](results/${study.name}/${file})`);
  });
});

// What scripts/recipes.mjs measured, in the table that a reader sees.

type Figures = Readonly<Record<string, number>>;
type Setting = { readonly steps: number; readonly seconds: number; readonly figures: Figures };

/** A recipe's main figures, as the table writes them. */
function written({ perplexity, bleu, chrf, exact, exactLonger, accuracy, accuracy2x, accuracy4x }: Figures, name: string): string {
  const three = (...numbers: number[]) => numbers.map((number) => number.toFixed(3)).join(", ");
  if (name === "translate") return `${bleu.toFixed(2)}, ${chrf.toFixed(2)}`;
  if (name === "pronounce") return three(1 - exact);
  if (perplexity !== undefined) return perplexity.toFixed(2);
  if (exact !== undefined) return three(exact, exactLonger);
  return accuracy4x === undefined ? three(accuracy) : three(accuracy, accuracy2x, accuracy4x);
}

describe.each(recipes)("docs/results/recipes.json: $name", ({ name, settings }) => {
  const measured: Readonly<Record<string, Setting>> = JSON.parse(readFileSync(join(docs, "results/recipes.json"), "utf8"))[name];

  it.each(["quick", "full"])("has the %s setting as it is, and the page shows what it reached", (setting) => {
    const { steps, seconds, figures } = measured[setting];
    expect(steps).toBe(settings(setting === "full").training?.steps);
    const row = new RegExp(`^\\| ${name} .*$`, "m")
      .exec(page)?.[0]
      .split("|")
      .map((cell) => cell.trim());
    const [, , , quick, quickSeconds, full, fullSeconds] = row ?? [];
    expect(setting === "quick" ? [quick, quickSeconds] : [full, fullSeconds]).toEqual([
      written(figures, name),
      seconds.toLocaleString("en"),
    ]);
  });
});
