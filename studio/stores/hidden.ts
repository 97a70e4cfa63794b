/** A text in which a word is to be found, unless it has a mask already: the short word nearest to the middle, which is likely to be one token. */
export function hidden(prompt: string, mask: string): string {
  if (prompt.includes(mask)) return prompt;
  const words = prompt.trim().split(/\s+/);
  const middle = (words.length - 1) / 2;
  const short = [...words.keys()].filter((i) => /^\p{L}{2,5}$/u.test(words[i]));
  const [place = words.length - 1] = short.toSorted((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
  return words.with(place, mask).join(" ");
}
