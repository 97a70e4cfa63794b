/** What was warned of, each once; nothing where nothing was. */
export function Warnings({ sentences }: { readonly sentences: readonly string[] }) {
  if (sentences.length === 0) return null;
  return (
    <ul class="warnings" aria-label="Warnings">
      {sentences.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  );
}
