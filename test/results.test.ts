import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { studyPictures } from "../src/studies/breakdowns.ts";
import { studies } from "../src/studies/index.ts";
import { readResults } from "../src/studies/results.ts";
import { studyTable } from "../src/studies/table.ts";

// The results that the docs show are those that a study wrote: nobody changed a number by hand, and no row is left out.

const docs = join(import.meta.dirname, "../docs");
const page = readFileSync(join(docs, "recipes.md"), "utf8");

const shown = readdirSync(join(docs, "results"));

describe.each(studies.filter(({ name }) => shown.includes(name)))("docs/results/$name", (study) => {
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
