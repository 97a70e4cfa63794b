import { ConfigError, DataError } from "../base/errors.ts";

/** The place of a setting as whoever trains gives it: what config.json has under `training` stands at the top there. */
export const settingPath = (path: string): string => path.replace(/^(config\.)?training\./, "").replace(/^config\./, "model.");

/** Errors of what was given tell its place: a form shows them there. */
export async function atSettings<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConfigError && error.path !== undefined)
      throw new ConfigError(error.complaint, { ...error.facts, path: settingPath(error.path), cause: error });
    if (error instanceof DataError && error.path === undefined)
      throw new DataError(error.complaint, { ...error.facts, path: "data", cause: error });
    throw error;
  }
}
