import { useEffect, useState } from "preact/hooks";
import { AskError } from "../../src/entries/web.ts";
import type { Run } from "../../src/worker/run.ts";
import { computer, standing } from "../compute/place.ts";
import { folderOf } from "./runs.ts";

// Models that are open: by run and step, the few that were used last. Whoever needs one asks here and never closes it.

const most = 4;

interface Entry {
  readonly key: string;
  readonly model: Promise<Run>;
}

let open: readonly Entry[] = [];

const keyOf = (name: string, step?: number): string => `${name}@${step ?? ""}`;

export function opened(name: string, step?: number): Promise<Run> {
  const key = keyOf(name, step);
  const known = open.find((one) => one.key === key);
  const entry = known ?? { key, model: computer().open({ run: folderOf(name) }, step === undefined ? {} : { step }) };
  const [kept, gone] = [open.filter((one) => one !== entry).slice(0, most - 1), open.filter((one) => one !== entry).slice(most - 1)];
  open = [entry, ...kept];
  for (const one of gone) void one.model.then((model) => model.close()).catch(() => {});
  if (!known) entry.model.catch(() => forget(name, step));
  return entry.model;
}

/** The next who asks opens it again. */
export function forget(name: string, step?: number): void {
  open = open.filter(({ key }) => key !== keyOf(name, step));
}

/** After a connection was lost, nothing is open any more. */
export function forgetAll(): void {
  open = [];
}

/** A model that was saved again, or closed by its house, is opened anew, once. */
export async function withModel<Answer>(name: string, step: number | undefined, use: (model: Run) => Promise<Answer>): Promise<Answer> {
  try {
    return await use(await opened(name, step));
  } catch (error) {
    if (!(error instanceof AskError) || !/closed|changed/.test(`${error.told.code} ${error.message}`)) throw error;
    forget(name, step);
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
