import { useEffect, useRef, useState } from "preact/hooks";
import type { Run } from "../../../src/worker/run.ts";
import { messageOf, withModel } from "../../stores/models.ts";
import { type Asked, quiet } from "../asked.ts";
import { type Hypothesis, logProbabilityOf } from "../writing/beams.ts";
import type { ShownToken } from "../writing/branches.ts";

// A translation as it comes: token by token where one is followed, all at once where beams are compared as wholes.

export interface Target {
  readonly text: string;
  readonly tokens: readonly ShownToken[];
  readonly hypothesis: Hypothesis;
  readonly logProbability: number;
}

export interface Translated {
  readonly state: "writing" | "done" | "failed";
  readonly message?: string;
  /** The best first. */
  readonly targets: readonly Target[];
}

const told = 12;

export function useTranslation({ name, step, facts }: Asked, source: string, beams: number): Translated {
  const [found, setFound] = useState<Translated>({ state: "writing", targets: [] });
  useEffect(() => {
    if (source.trim() === "") {
      setFound({ state: "done", targets: [] });
      return;
    }
    const stop = new AbortController();
    const tell = (next: Translated) => !stop.signal.aborted && setFound(next);
    const work = async (model: Run): Promise<void> => {
      const options = { ...quiet, signal: stop.signal, tokens: facts.context };
      if (beams > 1) {
        setFound((before) => ({ state: "writing", targets: before.targets }));
        const [all] = await model.best([source], { ...options, beams, samples: beams });
        tell({ state: "done", targets: all.map(({ text, told: tokens, ended }) => targetOf(text, tokens, ended?.logProbability)) });
        return;
      }
      let [text, end, tokens]: [string, number | undefined, readonly ShownToken[]] = ["", undefined, []];
      for await (const piece of model.write(source, { ...options, temperature: 0, top: told })) {
        [text, end, tokens] = [text + piece.text, piece.ended?.logProbability, [...tokens, ...piece.tokens]];
        tell({ state: "writing", targets: [targetOf(text, tokens, end)] });
      }
      tell({ state: "done", targets: [targetOf(text, tokens, end)] });
    };
    withModel(name, step, work).catch((error) => tell({ state: "failed", message: messageOf(error), targets: [] }));
    return () => stop.abort();
  }, [name, step, source, beams]);
  return found;
}

function targetOf(text: string, tokens: readonly ShownToken[], end: number | undefined): Target {
  const own = tokens.map(({ id, text: word, logProbability }) => ({ id, text: word, logProbability: logProbability ?? 0 }));
  const hypothesis = { tokens: own, ...(end !== undefined && { end }) };
  return { text, tokens, hypothesis, logProbability: logProbabilityOf(hypothesis) };
}

/** A value that changes no more often than this, and always comes to the last one. */
export function useRested<Value>(value: Value, milliseconds: number): Value {
  const [rested, setRested] = useState(value);
  const due = useRef(0);
  useEffect(() => {
    const timer = setTimeout(
      () => {
        due.current = performance.now() + milliseconds;
        setRested(value);
      },
      Math.max(0, due.current - performance.now()),
    );
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}
