import { useEffect, useState } from "preact/hooks";
import { AskError } from "../../src/entries/web.ts";
import type { Run } from "../../src/worker/run.ts";
import { computer, standing } from "../compute/place.ts";
import { folderOf, runNamed } from "./runs.ts";

// Models that are open: by run and step, the few that were used last. Whoever needs one asks here and never closes it.

const most = 4;

interface Entry {
  readonly name: string;
  readonly step: number | undefined;
  /** Which weights the best ones were, as far as that was known when they were opened. */
  weights: string | undefined;
  readonly model: Promise<Run>;
}

let open: readonly Entry[] = [];

/** The best weights become others while a run goes on; those of a step never do. */
function weightsOf(name: string, step: number | undefined): string | undefined {
  const facts = step === undefined ? runNamed(name) : undefined;
  return facts && `${facts.step} ${facts.validLoss}`;
}

export function opened(name: string, step?: number): Promise<Run> {
  const weights = weightsOf(name, step);
  const same = open.find((one) => one.name === name && one.step === step);
  const isOld = same?.weights !== undefined && weights !== undefined && same.weights !== weights;
  const entry: Entry =
    same && !isOld ? same : { name, step, weights, model: computer().open({ run: folderOf(name) }, step === undefined ? {} : { step }) };
  entry.weights ??= weights;
  const others = open.filter((one) => one !== entry && one !== same);
  open = [entry, ...others.slice(0, most - 1)];
  close([...others.slice(most - 1), ...(same && isOld ? [same] : [])]);
  if (entry !== same) entry.model.catch(() => forget(entry.model));
  return entry.model;
}

const close = (entries: readonly Entry[]): void => {
  for (const { model } of entries) void model.then((run) => run.close()).catch(() => {});
};

/** The next who asks opens it again. */
function forget(model: Promise<Run>): void {
  open = open.filter((one) => one.model !== model);
}

/** A run that is removed needs no memory any more. */
export function closeRun(name: string): void {
  const gone = open.filter((one) => one.name === name);
  open = open.filter((one) => one.name !== name);
  close(gone);
}

/** After a connection was lost, nothing is open any more. */
export function forgetAll(): void {
  open = [];
}

/** A model that was saved again, or closed by its house, is opened anew, once. */
export async function withModel<Answer>(name: string, step: number | undefined, use: (model: Run) => Promise<Answer>): Promise<Answer> {
  const model = opened(name, step);
  try {
    return await use(await model);
  } catch (error) {
    if (!(error instanceof AskError) || !/closed|changed/.test(`${error.told.code} ${error.message}`)) throw error;
    forget(model);
    void model.then((run) => run.close()).catch(() => {}); // it may be closed already
    return use(await opened(name, step));
  }
}

/** What is waited for: an answer, or why there is none. `before` is the last answer, to be shown until the next one is there. */
export type Waited<Answer> =
  | { readonly state: "none" }
  | { readonly state: "loading"; readonly before?: Answer }
  | { readonly state: "failed"; readonly message: string; readonly before?: Answer }
  | { readonly state: "ready"; readonly answer: Answer };

/** Asks again whenever one of `inputs` changes, and stops asking for what nobody waits for any more. Undefined asks nothing. */
export function useAnswer<Answer>(ask: ((signal: AbortSignal) => Promise<Answer>) | undefined, inputs: readonly unknown[]): Waited<Answer> {
  const [found, setFound] = useState<Waited<Answer>>({ state: ask ? "loading" : "none" });
  const connected = standing.value.state === "ready";
  useEffect(() => {
    if (!ask || !connected) {
      setFound({ state: ask ? "loading" : "none" });
      return;
    }
    const stop = new AbortController();
    setFound((last) => ({ state: "loading", ...before(last) }));
    ask(stop.signal).then(
      (answer) => !stop.signal.aborted && setFound({ state: "ready", answer }),
      (error) => !stop.signal.aborted && setFound((last) => ({ state: "failed", message: messageOf(error), ...before(last) })),
    );
    return () => stop.abort();
  }, [...inputs, connected]);
  return found;
}

const before = <Answer>(last: Waited<Answer>): { readonly before?: Answer } => {
  if (last.state === "ready") return { before: last.answer };
  return "before" in last && last.before !== undefined ? { before: last.before } : {};
};

/** The answer, or the one before it. */
export const shown = <Answer>(waited: Waited<Answer>): Answer | undefined =>
  waited.state === "ready" ? waited.answer : "before" in waited ? waited.before : undefined;

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
