import type { process as ownProcess } from "../../src/web/system/process.ts";

// What the code of run folders finds in a page, in the place of Node's globals.
declare global {
  const process: typeof ownProcess;
  const setImmediate: ((work: () => void) => unknown) | undefined;
}
