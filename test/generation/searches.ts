import type { BeamOptions, Hypothesis } from "../../src/generation/beam.ts";
import { highest } from "../../src/generation/sampling.ts";
import type { Prompt, Speaker } from "../../src/generation/speech.ts";

// Other ways to look for continuations, slow and obvious, for beams to be held against.

/** The likeliest token each time. */
export async function greedy(speaker: Speaker, prompt: Prompt, { tokens, end }: BeamOptions): Promise<number[]> {
  const speech = speaker.begin();
  const said: number[] = [];
  for (let [next] = await speech.join([prompt]); ; [next] = await speech.next(said.slice(-1))) {
    const token = highest(next.scores);
    if (token === end) return said;
    said.push(token);
    if (said.length >= tokens || prompt.ids.length + said.length > speaker.longest) return said;
  }
}

/** All continuations there are, each with its log-probability from the model alone; the best first. */
export async function everything(
  speaker: Speaker,
  prompt: Prompt,
  { tokens, end, lengthPenalty = 0 }: BeamOptions,
): Promise<Omit<Hypothesis, "logProbabilities">[]> {
  const found: Omit<Hypothesis, "logProbabilities">[] = [];
  const ended = (said: number[], logProbability: number, finish: Hypothesis["finish"]) => {
    const length = said.length + (finish === "end" ? 1 : 0);
    found.push({ tokens: said, logProbability, score: logProbability / length ** lengthPenalty, finish });
  };
  let open = [{ said: [] as number[], logProbability: 0 }];
  for (let depth = 0; depth < tokens; depth++) {
    const next = await speaker.begin().join(open.map(({ said }) => ({ ...prompt, ids: [...Array.from(prompt.ids), ...said] })));
    const longer: typeof open = [];
    for (const [i, { said, logProbability }] of open.entries())
      for (const [token, score] of next[i].scores.entries()) {
        const total = logProbability + score - next[i].total;
        if (token === end) ended(said, total, "end");
        else longer.push({ said: [...said, token], logProbability: total });
      }
    open = longer;
  }
  for (const { said, logProbability } of open) ended(said, logProbability, "length");
  return found.sort((a, b) => b.score - a.score);
}

/** The beams themselves, the slow way: no hypothesis is given up before there is no room for more. */
export async function patient(speaker: Speaker, prompt: Prompt, options: BeamOptions): Promise<(readonly number[])[]> {
  const { beams, tokens, end, lengthPenalty = 0 } = options;
  const done: { said: number[]; score: number }[] = [];
  let open = [{ said: [] as number[], sum: 0 }];
  for (let length = 1; length <= tokens && open.length > 0; length++) {
    const next = await speaker.begin().join(open.map(({ said }) => ({ ...prompt, ids: [...Array.from(prompt.ids), ...said] })));
    const ways = open.flatMap(({ said, sum }, i) =>
      Array.from(next[i].scores, (score, token) => ({ said, token, sum: sum + score - next[i].total })),
    );
    ways.sort((a, b) => b.sum - a.sum);
    const ended = ways.slice(0, beams).filter(({ token }) => token === end);
    done.push(...ended.map(({ said, sum }) => ({ said, score: sum / length ** lengthPenalty })));
    open = ways
      .filter(({ token }) => token !== end)
      .slice(0, beams)
      .map(({ said, token, sum }) => ({ said: [...said, token], sum }));
    if (length === tokens) done.push(...open.map(({ said, sum }) => ({ said, score: sum / length ** lengthPenalty })));
  }
  return done
    .sort((a, b) => b.score - a.score)
    .slice(0, beams)
    .map(({ said }) => said);
}
