import { expect, it } from "vitest";
import { nearest, questionsOf } from "../../src/evaluation/references.ts";

it("asks for every source once, with all its targets as references", () => {
  const pairs = [
    { source: "read", target: "R EH D" },
    { source: "a", target: "AH" },
    { source: "read", target: "R IY D" },
  ];
  expect(questionsOf(pairs)).toEqual([
    { place: 0, references: ["R EH D", "R IY D"] },
    { place: 1, references: ["AH"] },
  ]);
});

it("measures an answer against the reference that it is, or is nearest to", () => {
  expect(nearest("R IY D", ["R EH D", "R IY D"])).toBe("R IY D");
  expect(nearest("R IY", ["R EH D", "R IY D"])).toBe("R IY D"); // one edit, not two
  expect(nearest("T", ["R EH D", "R IY D"])).toBe("R EH D"); // the first of equals
  expect(nearest("anything", ["AH"])).toBe("AH");
});
