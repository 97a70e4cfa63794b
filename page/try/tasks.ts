import { seriesColours } from "../../src/pictures/colour.ts";
import { visible } from "../../src/pictures/label.ts";
import { decimal } from "../../src/pictures/number.ts";
import { create } from "../dom.ts";
import { AnswerError, type Asked, answer, type Classified, type Embedded, type Filled, type Model, type Tagged } from "./api.ts";
import { Asking, area } from "./asking.ts";
import { barRow } from "./tokens.ts";

// Models that answer at once: a label, tags, what a mask hides, how near texts are to each other.

const mostLabels = 20;
const mostLines = 64;

interface Task<Answer> {
  readonly verb: string;
  readonly path: string;
  readonly input: { readonly element: HTMLElement; readonly box: HTMLTextAreaElement };
  readonly extras?: readonly HTMLElement[];
  /** What is sent for what was typed. */
  inputOf?(typed: string): unknown;
  readonly more?: Readonly<Record<string, unknown>>;
  shown(answer: Answer): readonly HTMLElement[];
  spoken(answer: Answer): string;
}

function asking<Answer extends { readonly warnings?: string[] | undefined }>(model: Model, task: Task<Answer>): Asking {
  const { verb, path, input, extras, more = {}, inputOf = (typed: string): unknown => typed, shown, spoken } = task;
  const output = create("div", { class: "answer" });
  return new Asking({
    verb,
    inputs: [input.element],
    outputs: [output],
    ...(extras && { extras }),
    asked: () => ({ path, body: { model: model.id, input: inputOf(input.box.value), ...more } }),
    async ask(asked: Asked, signal: AbortSignal) {
      const began = performance.now();
      try {
        const found = await answer<Answer>(asked, signal);
        output.replaceChildren(...shown(found));
        const facts = [`${Math.max(1, Math.round(performance.now() - began))} ms`];
        return { facts, warnings: found.warnings, spoken: spoken(found) };
      } catch (error) {
        output.replaceChildren(); // an old answer beside a new error would seem to be its answer
        throw error;
      }
    },
  });
}

export function classifier(model: Model): Asking {
  return asking<Classified>(model, {
    verb: "Classify",
    path: "/v1/classify",
    input: area({ name: "input", label: "Text", rows: 4 }),
    shown({ results: [{ label, labels, probabilities }] }) {
      const chosen = labels ?? [label];
      const sorted = Object.entries(probabilities).sort(([, a], [, b]) => b - a);
      const rows = sorted.slice(0, mostLabels).map(([name, share]) => barRow(name, share, chosen.includes(name) ? "chosen" : ""));
      const rest = sorted.length - mostLabels;
      const note = rest > 0 ? [create("p", { class: "soft" }, `and ${rest} that are less likely`)] : [];
      return [create("table", { class: "bars" }, create("tbody", {}, ...rows)), ...note];
    },
    spoken: ({ results: [{ label, labels }] }) => (labels ?? [label]).join(", ") || "no label",
  });
}

/** Tags of spans begin with where in the span a word stands. */
const kindOf = (tag: string): string => tag.replace(/^[BIESLU]-/, "");

export function tagger(model: Model): Asking {
  const kinds = [...new Set((model.labels ?? []).map(kindOf))].filter((kind) => kind !== "O");
  return asking<Tagged>(model, {
    verb: "Tag",
    path: "/v1/tag",
    input: area({ name: "input", label: "Text", rows: 4 }),
    shown: ({ results: [{ tokens, tags }] }) => [
      create(
        "ol",
        { class: "tagged" },
        ...tokens.map((token, i) => {
          const tag = tags[i];
          const place = kinds.indexOf(kindOf(tag));
          const kind = place < 0 ? "none" : `series-${place % seriesColours.length}`;
          return create("li", { class: kind }, create("bdi", {}, visible(token)), create("small", {}, tag));
        }),
      ),
    ],
    spoken: ({ results: [{ tokens, tags }] }) => tokens.map((token, i) => `${token}: ${tags[i]}`).join(", "),
  });
}

export function filler(model: Model): Asking {
  const input = area({ name: "input", label: "Text with a mask where a word is to be found", rows: 4 });
  const insert = create("button", { type: "button", class: "quiet" }, "insert the mask");
  insert.addEventListener("click", () => {
    input.box.setRangeText(model.mask ?? "", input.box.selectionStart, input.box.selectionEnd, "end");
    input.box.focus();
    input.box.dispatchEvent(new Event("input", { bubbles: true }));
  });
  return asking<Filled>(model, {
    verb: "Fill",
    path: "/v1/fill",
    input,
    extras: [insert],
    more: { top: 8 },
    shown: ({ results: [{ masks: found }] }) =>
      found.map((candidates, i) => {
        const caption = found.length > 1 ? [create("caption", {}, `mask ${i + 1}`)] : [];
        const rows = candidates.map(({ token, probability, text }) => {
          const row = barRow(visible(token), probability);
          row.append(create("td", { class: "whole" }, text));
          return row;
        });
        return create("table", { class: "bars" }, ...caption, create("tbody", {}, ...rows));
      }),
    spoken: ({ results: [{ masks: found }] }) => found.map(([best]) => best.token).join(", "),
  });
}

export function embedder(model: Model): Asking {
  let lines: string[] = [];
  return asking<Embedded>(model, {
    verb: "Compare",
    path: "/v1/embeddings",
    input: area({ name: "input", label: "Texts, each on a line of its own", rows: 6 }),
    inputOf(typed) {
      lines = typed.split("\n").filter((line) => line.trim() !== "");
      if (lines.length > mostLines) throw new AnswerError(`a table of ${lines.length} texts would not fit here; give at most ${mostLines}`);
      return lines;
    },
    shown: ({ data }) => [
      similarities(
        lines,
        data.map(({ embedding }) => embedding as number[]),
      ),
    ],
    spoken: ({ data }) => `${data.length} texts were compared`,
  });
}

/** Cosines of all pairs: the vectors have length 1. */
function similarities(lines: readonly string[], vectors: readonly (readonly number[])[]): HTMLElement {
  const cosine = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const head = create("tr", {}, create("td"), create("td"), ...lines.map((_, i) => create("th", { scope: "col" }, `${i + 1}`)));
  const rows = lines.map((line, i) => {
    const cells = vectors.map((vector, j) => {
      const value = cosine(vectors[i], vector);
      const cell = create("td", { class: value < 0 ? "number below" : "number" }, decimal(value).replace("-", "−"));
      cell.style.setProperty("--share", `${i === j ? 0 : Math.min(1, Math.abs(value))}`);
      if (i === j) cell.classList.add("self");
      return cell;
    });
    return create(
      "tr",
      {},
      create("td", { class: "number" }, `${i + 1}`),
      create("th", { scope: "row" }, create("bdi", {}, line)),
      ...cells,
    );
  });
  const table = create("table", { class: "similar" }, create("thead", {}, head), create("tbody", {}, ...rows));
  const words = `Cosines of vectors of ${vectors[0].length} numbers: 1 for the same direction, 0 for nothing in common.`;
  return create("div", { class: "scroll" }, table, create("p", { class: "soft" }, words));
}
