import type { ChatMessage } from "../../../src/text/examples.ts";
import { put } from "../../address.ts";

// A conversation with a model that was made for them: what was said, turn by turn.

export type Message = ChatMessage;

const isMessage = (one: unknown): one is Message =>
  typeof one === "object" &&
  one !== null &&
  "role" in one &&
  typeof one.role === "string" &&
  "content" in one &&
  typeof one.content === "string";

/** The turns of an address; what is no conversation is none. */
export function messagesOf(given: string | undefined): readonly Message[] {
  if (given === undefined) return [];
  try {
    const read: unknown = JSON.parse(given);
    return Array.isArray(read) && read.every(isMessage) ? read.map(({ role, content }) => ({ role, content })) : [];
  } catch {
    return [];
  }
}

export function Turns({ turns }: { readonly turns: readonly Message[] }) {
  if (turns.length === 0) return null;
  return (
    <div class="stack">
      <ol class="turns" aria-label="The conversation so far">
        {turns.map(({ role, content }, i) => (
          <li key={i} class={role === "user" ? "mine" : "its"}>
            <small>{role === "user" ? "You" : "It"}</small>
            <p dir="auto">{content}</p>
          </li>
        ))}
      </ol>
      <p>
        <button type="button" onClick={() => put({ chat: undefined, tree: undefined, at: undefined }, "push")}>
          Begin anew
        </button>
      </p>
    </div>
  );
}
