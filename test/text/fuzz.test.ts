import { expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { QkvError } from "../../src/base/errors.ts";
import type { ExampleOptions } from "../../src/text/examples.ts";
import { parseExamples } from "../../src/text/parse-examples.ts";
import { splitByHash } from "../../src/text/split.ts";
import { mutateText } from "../support/mutate-text.ts";

const seeds = {
  csv: 'text,label\n"a, ""b""\nc",pos\nfine,neg\nso so,pos\n',
  tsv: 'text\ttags\nthe "cat" sat\tD N V\n\nit slept\tP V\n',
  jsonl: '{"source": "one", "target": "eins"}\n{"source": "tw\\u00f6", "target": 2}\n{"source": "x", "tags": ["A", "B"], "target": true}\n',
} as const;

const options: readonly ExampleOptions[] = [{}, { task: "classify" }, { task: "tag" }, { columns: { label: "target", text: "source" } }];
/** More for a long night: QKV_FUZZ=10000. */
const mutants = Number(process.env.QKV_FUZZ ?? 300);

it.each(["csv", "tsv", "jsonl"] as const)("a damaged .%s is read or refused, in a sentence", { timeout: 600_000 }, (format) => {
  const source = chance(1).fork(format);
  let refused = 0;
  for (let i = 0; i < mutants; i++) {
    const text = mutateText(seeds[format], source.fork(i));
    try {
      const { examples } = parseExamples(text, format, `data.${format}`, options[i % options.length]);
      expect(examples.length).toBeGreaterThan(0);
      splitByHash<(typeof examples)[number]>(examples, 0.1);
    } catch (error) {
      if (!(error instanceof QkvError)) throw error;
      expect(error.message).toMatch(new RegExp(`^data\\.${format}(, line \\d+)?: [^\\n]{10,800}$`));
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(mutants / 4);
  expect(refused).toBeLessThan(mutants);
});
