// The verses of a book in the Zefania XML of the packages: <CHAPTER cnumber="1">, and in it <VERS vnumber="1">text</VERS>.

/** Verses by chapter and number: `3:16`. */
export type Verses = ReadonlyMap<string, string>;

const chapter = /<CHAPTER cnumber="(\d+)">(.*?)<\/CHAPTER>/gs;
const verse = /<VERS vnumber="(\d+)">(.*?)<\/VERS>/gs;
/** A note of the publisher, and what the King James Version adds at the end of letters about where they were written. */
const aside = /<DIV>.*?<\/DIV>|&lt;.*?&gt;/gs;

export function verses(book: string): Verses {
  const found = new Map<string, string>();
  for (const [, chapterNumber, inside] of book.matchAll(chapter)) {
    for (const [, number, marked] of inside.matchAll(verse)) {
      const text = plain(marked);
      if (text !== "") found.set(`${chapterNumber}:${number}`, text);
    }
  }
  return found;
}

/** Without asides, without the brackets around words that the translators added, and with single spaces. */
const plain = (marked: string): string => marked.replace(aside, " ").replace(/[[\]]/g, "").replace(/\s+/g, " ").trim();
