import type { ComponentChildren } from "preact";

/** What may be wider than the page scrolls inside itself, by keyboard too. */
export const Wide = ({ label, children }: { readonly label: string; readonly children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls it with the arrow keys
  <section class="scroll" aria-label={label} tabIndex={0}>
    {children}
  </section>
);
