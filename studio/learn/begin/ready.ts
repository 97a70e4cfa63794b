import { type MadeTable, made } from "./made.ts";

// Data for whoever has none at hand: a book that lies beside the app, and tables that are made in the page.

export interface Ready extends Omit<MadeTable, "text"> {
  text(): Promise<string> | string;
}

export const ready: readonly Ready[] = [
  {
    name: "book",
    label: "A book",
    what: "The beginning of Moby-Dick: a model learns to write on, character by character.",
    file: "book.txt",
    async text() {
      const answer = await fetch(new URL("./book.txt", document.baseURI));
      if (!answer.ok) throw new Error(`the book is not beside the app (status ${answer.status}); give a text of your own`);
      return answer.text();
    },
  },
  ...made,
];
