import { shortened } from "../../../src/pictures/label.ts";
import { visible } from "../../parts/token-strip.tsx";

/** A token as it stands beside a map or in a sentence, with the same signs for spaces as in the strip above. */
export const labelOf = (token: string, most: number): string =>
  shortened(
    visible(token)
      .map(({ text }) => text)
      .join(""),
    most,
  );
