// What is done to a text before it is cut into tokens, as tokenizer.json spells it: a Unicode normal form, lower case, or one after the other.

/** nfc: é is one character, however it was written. nfkc: also what only looks different (ﬁ, ２, a no-break space) becomes the plain letters. */
export const normalForms = ["nfc", "nfkc", "none"] as const;
export type NormalForm = (typeof normalForms)[number];

export interface Normalisation {
  readonly lowercase?: boolean;
  readonly normalize?: NormalForm;
}

const formTypes = { nfc: "NFC", nfkc: "NFKC" } as const;

/** The `normalizer` of a tokenizer.json; null where the text is read as it is. */
export function normalizerJson({ lowercase = false, normalize = "none" }: Normalisation): object | null {
  const parts = [...(normalize === "none" ? [] : [{ type: formTypes[normalize] }]), ...(lowercase ? [{ type: "Lowercase" }] : [])];
  return parts.length > 1 ? { type: "Sequence", normalizers: parts } : (parts[0] ?? null);
}

/** Every way to read a text, by what tokenizer.json says of it. */
const known = new Map(
  normalForms.flatMap((normalize) =>
    [false, true].map((lowercase) => [JSON.stringify(normalizerJson({ normalize, lowercase })), { normalize, lowercase }] as const),
  ),
);

/** What the `normalizer` of a file does; nothing is known of those that are not made here. */
export const normalisationOf = (normalizer: object | null): Required<Normalisation> | undefined => known.get(JSON.stringify(normalizer));

/** The text that is read in the place of a text. */
export function normalised(text: string, { lowercase = false, normalize = "none" }: Normalisation): string {
  const form = normalize === "none" ? text : text.normalize(formTypes[normalize]);
  // As the `tokenizers` package does it, letter by letter: JavaScript alone would look whether a sigma ends a word.
  return lowercase ? form.replaceAll("Σ", "σ").toLowerCase() : form;
}
