import type { ComponentChildren } from "preact";
import type { Waited } from "../stores/models.ts";

// What stands where something will be: while it is waited for, when it failed, and when there is nothing.

export const Failed = ({ message, children }: { readonly message: string; readonly children?: ComponentChildren }) => (
  <div class="note bad" role="alert">
    <p>{message}</p>
    {children}
  </div>
);

export const Loading = ({ what }: { readonly what: string }) => (
  <p class="note" role="status">
    {what}
  </p>
);

export const Empty = ({ children }: { readonly children: ComponentChildren }) => <div class="note stack">{children}</div>;

/** A run that is still to be saved for the first time. */
export const Unsaved = ({ name }: { readonly name: string }) => (
  <Loading what={`Nothing of ${name} is saved yet: it stands here as soon as it was saved for the first time.`} />
);

/** Shows an answer; until it is there the one before, so that nothing jumps, and what went wrong above it. */
export function Answered<Answer>({
  waited,
  what,
  children,
}: {
  readonly waited: Waited<Answer>;
  readonly what: string;
  readonly children: (answer: Answer, isNew: boolean) => ComponentChildren;
}) {
  if (waited.state === "none") return null;
  const answer = waited.state === "ready" ? waited.answer : waited.before;
  // The same elements whether it is new or not, so that nothing is made anew while it is waited for.
  return (
    <>
      {waited.state === "failed" && <Failed message={waited.message} />}
      {waited.state === "loading" && answer === undefined && <Loading what={what} />}
      {answer !== undefined && (
        <div class="stack" aria-busy={waited.state === "loading"}>
          {children(answer, waited.state === "ready")}
        </div>
      )}
    </>
  );
}
