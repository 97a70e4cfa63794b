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
  if (waited.state === "ready") return <>{children(waited.answer, true)}</>;
  const { before } = waited;
  return (
    <>
      {waited.state === "failed" && <Failed message={waited.message} />}
      {waited.state === "loading" && before === undefined && <Loading what={what} />}
      {before !== undefined && <div aria-busy={waited.state === "loading"}>{children(before, false)}</div>}
    </>
  );
}
