import * as z from "zod";
import { FormatError } from "../base/errors.ts";
import type { JsonObject } from "./family.ts";

// How sentence-transformers makes one vector of a text: modules.json says what follows the model, 1_Pooling/config.json how states are
// gathered.

const modulesSchema = z.array(z.looseObject({ type: z.string(), path: z.string() })).max(20);

const modes = {
  pooling_mode_mean_tokens: "mean",
  pooling_mode_cls_token: "first",
  pooling_mode_lasttoken: "last",
} as const;

/** Newer files have one name in the place of many switches. */
const named = { mean: "mean", cls: "first", lasttoken: "last" } as const;

export interface Gathering {
  readonly pool: "mean" | "first" | "last";
  readonly normalise: boolean;
}

/** What a folder says of vectors. `pooling` reads the config of a module by its folder. */
export function gatheringOf(modules: unknown, file: string, pooling: (folder: string) => JsonObject): Gathering {
  const parsed = modulesSchema.safeParse(modules);
  if (!parsed.success) throw new FormatError(`not a list of modules (${parsed.error.issues[0].message})`, { file });
  const kinds = parsed.data.map(({ type, path }) => ({ kind: type.slice(type.lastIndexOf(".") + 1), path }));
  const strange = kinds.filter(({ kind }) => !["Transformer", "Pooling", "Normalize"].includes(kind)).map(({ kind }) => kind);
  if (strange.length > 0)
    throw new FormatError(`modules that are not known: ${strange.join(", ")}; those that are read are Transformer, Pooling and Normalize`, {
      file,
    });
  const pooler = kinds.find(({ kind }) => kind === "Pooling");
  if (!pooler) throw new FormatError("there is no module that gathers a text into one vector (Pooling)", { file });
  if (!/^[\w-]{1,60}$/.test(pooler.path)) throw new FormatError(`"${pooler.path}" is no folder inside this one`, { file });
  return { pool: poolOf(pooling(pooler.path), file), normalise: kinds.some(({ kind }) => kind === "Normalize") };
}

function poolOf(config: JsonObject, file: string): Gathering["pool"] {
  const mode = config.pooling_mode;
  if (typeof mode === "string" && Object.hasOwn(named, mode)) return named[mode as keyof typeof named];
  const on = Object.entries(config).flatMap(([key, value]) => (key.startsWith("pooling_mode") && value === true ? [key] : []));
  const [only] = on;
  if (on.length === 1 && Object.hasOwn(modes, only)) return modes[only as keyof typeof modes];
  throw new FormatError(
    `texts are gathered by ${on.join(" and ") || String(mode)}, which is not known; it is by the mean, the first or the last token`,
    {
      file,
    },
  );
}
