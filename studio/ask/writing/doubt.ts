/** As unlikely as this, or more, is drawn with the strongest line. */
const strongest = 1e-3;

/** 0 for what had to come, 1 for one in a thousand. */
export const doubtOf = (logProbability: number | null): number =>
  logProbability === null ? 0 : Math.min(1, Math.max(0, logProbability / Math.log(strongest)));
