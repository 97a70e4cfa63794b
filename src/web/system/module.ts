import { SystemError } from "../storage/system-error.ts";

/** A page has no installed packages: nothing is found, and whoever asks says what to do without. */
export function createRequire(_from: string | URL) {
  const require = (name: string): never => {
    throw Object.assign(new Error(`Cannot find module '${name}': a page has no installed packages`), { code: "MODULE_NOT_FOUND" });
  };
  return Object.assign(require, {
    resolve: Object.assign((name: string): string => require(name), { paths: (_name: string): string[] | null => [] }),
  });
}

export const register = (): never => {
  throw new SystemError("ENOSYS", "register");
};
