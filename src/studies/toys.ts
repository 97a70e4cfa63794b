import { evaluated } from "./answers.ts";
import type { Row, Study } from "./study.ts";

const toy = (name: string, what: string): Row => ({
  name,
  what,
  data: name,
  measure: evaluated({ exact: "exact", "on longer ones": "exactLonger" }),
});

export const toys: Study = {
  name: "toys",
  teaches:
    "Copying, reversing, sorting and adding are learned completely, at the lengths that were trained; longer examples are another matter.",
  rows: [
    toy("copy", "a string again"),
    toy("reverse", "a string from its end"),
    toy("sort", "its letters in order"),
    toy("addition", "the sum of two numbers"),
  ],
};
