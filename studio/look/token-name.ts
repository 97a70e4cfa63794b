import { visible } from "../parts/token-strip.tsx";

/** A token in one line of text, with the strip's signs for spaces and ends of lines. */
export const tokenName = (token: string): string =>
  token === ""
    ? "∅"
    : visible(token)
        .map(({ text }) => text)
        .join("");
