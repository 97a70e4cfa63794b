import { beforeAll, describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import type { Sample } from "../../src/generation/writing.ts";
import { open, type Trained } from "../../src/library/trained.ts";
import { Workplace } from "../support/command.ts";
import { chatModel, hubModel, Served, trainSmall } from "../support/serve.ts";

// Whatever the schedule: what a request gets, in a stream or whole, is what the library writes with the same seed.

const place = new Workplace();
const models = { decoder: "decoder", translator: "translator", rnn: "rnn", chat: chatModel, t5: hubModel("t5"), llama: hubModel("llama") };
type Name = keyof typeof models;

interface Question {
  readonly model: Name;
  readonly prompt: string;
  readonly seed: number;
  readonly n: number;
  readonly max_tokens: number;
  readonly temperature: number;
  readonly top_k?: number;
  readonly top_p?: number;
  readonly stop?: string[];
  readonly presence_penalty?: number;
  readonly frequency_penalty?: number;
  readonly stream: boolean;
}

/** Prompts have beginnings in common, and some are longer than a piece. */
const beginning = "the cat sat on the mat, and the dog ran to the hill with the ";
const texts: Readonly<Record<Name, readonly string[]>> = {
  decoder: ["the", "", beginning.slice(0, 40), `${beginning.slice(0, 40)}cat`, beginning.slice(0, 60)],
  rnn: ["the cat", "", beginning.repeat(3), `${beginning.repeat(2)}and so on`, beginning],
  translator: ["one two", "two", "three one", "one two three"],
  chat: ["Hello there", beginning.repeat(2), `${beginning.repeat(2)}hill`, "the"],
  t5: ["the house", "a", beginning],
  llama: ["the", beginning.slice(0, 20), "of"],
};

/** So many questions, each of them drawn from a seed. */
function questionsOf(names: readonly Name[], count: number): Question[] {
  const dice = chance(7).fork("questions");
  return Array.from({ length: count }, (_, i) => {
    const draw = (what: string, below: number) => dice.fork(what).integer(i, below);
    const model = names[i % names.length];
    return {
      model,
      prompt: texts[model][draw("prompt", texts[model].length)],
      seed: draw("seed", 1000),
      n: 1 + draw("n", 3),
      max_tokens: 1 + draw("tokens", 24),
      temperature: [0, 0.7, 1, 1.5][draw("temperature", 4)],
      ...(draw("k", 3) === 0 && { top_k: 5 }),
      ...(draw("p", 3) === 0 && { top_p: 0.8 }),
      ...(draw("stop", 4) === 0 && { stop: ["at", "e "] }),
      ...(draw("presence", 4) === 0 && { presence_penalty: 1.5 }),
      ...(draw("frequency", 4) === 0 && { frequency_penalty: -0.7 }),
      stream: draw("stream", 2) === 0,
    };
  });
}

const opened = new Map<Name, Trained>();

async function alone({ model, prompt, seed, n, max_tokens, stream: _, ...rest }: Question): Promise<Sample[]> {
  const run = opened.get(model) ?? open(folderOf(model), { threads: 1, warn: false });
  opened.set(model, run);
  const { temperature, top_k: topK, top_p: topP, stop, presence_penalty: presencePenalty, frequency_penalty: frequencyPenalty } = rest;
  const settings = { temperature, topK, topP, presencePenalty, frequencyPenalty };
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
  const [samples] = await run.samples([prompt], { ...given, seed, samples: n, tokens: max_tokens, ...(stop && { stop }) });
  return samples;
}

const folderOf = (model: Name): string => (models[model] === model ? place.path(model) : models[model]);

interface Choice {
  index: number;
  text: string;
  finish_reason: string | null;
}

async function asked(served: Served, question: Question): Promise<{ text: string; finish: string }[]> {
  const response = await served.post("/v1/completions", question);
  expect(response.status, await response.clone().text()).toBe(200);
  const found = Array.from({ length: question.n }, () => ({ text: "", finish: "" }));
  const take = ({ choices }: { choices: Choice[] }) => {
    for (const { index, text, finish_reason } of choices) {
      found[index].text += text;
      if (finish_reason !== null) found[index].finish = finish_reason;
    }
  };
  if (!question.stream) take((await response.json()) as never);
  else {
    const events = (await response.text()).split("\n\n").filter((event) => event !== "");
    expect(events.at(-1)).toBe("data: [DONE]");
    for (const event of events.slice(0, -1)) take(JSON.parse(event.slice("data: ".length)));
  }
  return found;
}

beforeAll(() => trainSmall(place, "decoder", "translator", "rnn"));

describe.each([
  ["as it is started usually", []],
  ["with whole prompts, and nothing shared", ["--piece", "100000", "--no-share"]],
  ["with prompts in pieces of four tokens, and two rows", ["--piece", "4", "--rows", "2"]],
  ["with pieces of four tokens, and nothing shared", ["--piece", "4", "--no-share"]],
])("a server %s", (_, flags) => {
  it("answers many at once as the library answers each alone", async () => {
    const names = Object.keys(models) as Name[];
    const served = await Served.start(place, [...names.map((name) => `${name}=${folderOf(name)}`), ...flags]);
    const questions = questionsOf(names, 120);
    const found = await Promise.all(questions.map((question) => asked(served, question)));
    for (const [i, question] of questions.entries()) {
      const samples = await alone(question);
      const wanted = samples.map(({ text, finish }) => ({ text, finish: finish === "length" ? "length" : "stop" }));
      expect(found[i], JSON.stringify(question)).toEqual(wanted);
    }
    expect(await served.metric("qkv_requests_running")).toBe(0);
    expect(await served.metric("qkv_model_crashes")).toBe(0);
    expect(await served.stop()).toBe(0);
  });
});
