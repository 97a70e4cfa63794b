import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import { FormatError, NetworkError } from "../base/errors.ts";
import { Queue, Turns } from "../base/turns.ts";
import { readPieces, writeDurably } from "../disk/files.ts";
import { writeWholeFolder } from "../disk/whole-folder.ts";
import { type Home, isInside, realPlace, toldPlace } from "./home.ts";
import { fetched, type Incoming, type IntakeOptions, ofBlob, safeName, written } from "./intake.ts";
import type { ModelPlace } from "./messages.ts";

// Where models come from: runs of this page, addresses and files. All but the first are put into the storage, whole or not at all, and opened from there.

/** What was kept of an address. */
export const sourceFile = "source.json";

const sourceSchema = z.object({
  url: z.string(),
  files: z.record(
    z.string(),
    z.object({ bytes: z.int().min(0), sha256: z.string(), etag: z.string().nullable(), modified: z.string().nullable() }),
  ),
});
type Source = z.output<typeof sourceSchema>;

/** What comes from one address comes one after the other: whoever asks twice finds it there the second time. */
const arrivals = new Map<string, Queue>();

/** The folder, or the .gguf file, to open. */
export async function placed(from: ModelPlace, options: IntakeOptions): Promise<string> {
  if ("run" in from) return from.run;
  const address = "url" in from ? from.url.replace(/\/$/, "") : "";
  const queue = arrivals.get(address) ?? new Queue();
  arrivals.set(address, queue);
  return queue.run(() => ("url" in from ? fromAddress(from.url, from.integrity ?? {}, options) : fromFiles(from, options)), options.signal);
}

async function fromFiles({ files, name }: Extract<ModelPlace, { files: unknown }>, options: IntakeOptions): Promise<string> {
  if (files.length === 0) throw new FormatError("no files were given; give those of a run or of a model's folder, or one .gguf");
  const names = files.map(({ path }) => path.split("/").map(safeName).join("/"));
  const common = names.every((one) => one.includes("/") && one.split("/")[0] === names[0].split("/")[0]);
  const inside = (path: string) => (common ? path.slice(path.indexOf("/") + 1) : path);
  // files of two models are called the same; which they are is told by their sizes and times
  const key = createHash("sha256").update(JSON.stringify(files.map(({ file, path }) => [path, file.size, file.lastModified])));
  const called = safeName(name ?? (common ? names[0].split("/")[0] : names[0])).replace(/^\.+/, ""); // what is hidden cannot be asked for
  const folder = join(options.home.models, `${called}-${key.digest("hex").slice(0, 16)}`);
  await writeWholeFolder({ folder, overwrite: true, what: "the model", owns: () => true }, async (temporary) => {
    for (const [i, { file }] of files.entries()) {
      const path = join(temporary, inside(names[i]));
      mkdirSync(dirname(path), { recursive: true });
      await written(ofBlob(file, names[i]), path, options);
      if (basename(path).toLowerCase() === "config.json") forgetPlaces(path, called, options.home);
    }
  });
  return opensAs(folder, names.map(inside));
}

const withPlaces = z.looseObject({
  data: z.looseObject({ source: z.looseObject({ kind: z.literal("files"), files: z.array(z.string()), valid: z.string().optional() }) }),
});
const withBase = z.looseObject({ training: z.looseObject({ lora: z.looseObject({}) }), from: z.looseObject({ run: z.string() }) });

/** The config of a run names files of the machine that it was trained on. A studio, which has a whole disk, knows those of its own and no others. */
function forgetPlaces(file: string, called: string, home: Home): void {
  if (home.called !== "studio") return;
  let config: unknown;
  try {
    config = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  } catch {
    return; // whoever opens it is told what is wrong
  }
  const base = withBase.safeParse(config).data?.from.run;
  if (base !== undefined) realPlace(toldPlace(base, home), home, "from"); // it would be opened from there
  const found = withPlaces.safeParse(config).data;
  if (!found) return;
  const { files, valid } = found.data.source;
  if ([...files, ...(valid === undefined ? [] : [valid])].every((one) => isInside(home.data, one))) return;
  const data = { ...found.data, source: { kind: "hub", from: called } };
  writeFileSync(file, `${JSON.stringify({ ...found, data }, null, 2)}\n`);
}

/** Addresses of single files often end with a question, such as `?download=true`. */
const isGguf = (url: string): boolean => new URL(url).pathname.endsWith(".gguf");

/** A .gguf is a model by itself. */
const opensAs = (folder: string, names: readonly string[]): string => {
  const file = names.find((name) => name.endsWith(".gguf"));
  return file === undefined ? folder : join(folder, file);
};

/** What is kept of an address is used as long as the address has the same, or cannot be reached. It is checked before it is opened. */
async function fromAddress(given: string, integrity: Readonly<Record<string, string>>, options: IntakeOptions): Promise<string> {
  const url = isGguf(given) || given.endsWith("/") ? given : `${given}/`;
  const key = createHash("sha256").update(url).digest("hex").slice(0, 16);
  const folder = join(options.home.models, `${safeName(new URL(url).pathname.replace(/\/$/, ""))}-${key}`);
  const kept = keptIn(folder);
  const fits = kept && isWanted(kept, integrity); // an app that wants another is not answered with what was right before
  if (fits && (await isWhole(folder, kept, options.signal)) && !(await hasChanged(url, kept, options.signal)))
    return opensAs(folder, Object.keys(kept.files));
  const source = await writeWholeFolder({ folder, overwrite: true, what: "the model", owns: () => true }, async (temporary) => {
    const files = await downloaded(url, temporary, options);
    checkIntegrity({ url, files }, integrity);
    writeDurably(join(temporary, sourceFile), `${JSON.stringify({ url, files } satisfies Source)}\n`);
    return { url, files };
  });
  return opensAs(folder, Object.keys(source.files));
}

function keptIn(folder: string): Source | undefined {
  try {
    return sourceSchema.safeParse(JSON.parse(readFileSync(join(folder, sourceFile), "utf8"))).data;
  } catch {
    return undefined; // nothing, or nothing that could be used
  }
}

/** Whether every file is what came: what a page stores may have been lost or changed since. */
async function isWhole(folder: string, { files }: Source, signal: AbortSignal): Promise<boolean> {
  const turns = new Turns(signal);
  for (const [name, { sha256 }] of Object.entries(files)) {
    const path = join(folder, name);
    if (!existsSync(path)) return false;
    const hash = createHash("sha256");
    await turns.through(readPieces(path, (piece) => hash.update(piece)));
    if (hash.digest("hex") !== sha256) return false;
  }
  return true;
}

/** Without an answer there is nothing newer. */
async function hasChanged(url: string, { files }: Source, signal: AbortSignal): Promise<boolean> {
  for (const [name, { etag, modified }] of Object.entries(files)) {
    if (etag === null && modified === null) continue;
    const address = isGguf(url) ? url : new URL(name, url).href;
    const response = await fetch(address, { method: "HEAD", signal, cache: "no-store" }).catch(() => undefined);
    signal.throwIfAborted();
    if (!response?.ok) continue;
    if (response.headers.get("etag") !== etag || response.headers.get("last-modified") !== modified) return true;
  }
  return false;
}

const isWanted = ({ files }: Source, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([name, sha256]) => files[name]?.sha256 === sha256.toLowerCase());

/** An app may say what it expects: the SHA-256 of files, in hexadecimal. */
function checkIntegrity({ url, files }: Source, wanted: Readonly<Record<string, string>>): void {
  for (const [name, sha256] of Object.entries(wanted)) {
    const found = files[name]?.sha256;
    if (found !== sha256.toLowerCase())
      throw new NetworkError(`${url}: the SHA-256 of ${name} is ${found ?? "not known, since it is not there"}, and ${sha256} was wanted`, {
        code: "network.damaged",
      });
  }
}

/** What belongs to a run, and to a folder of Hugging Face, beside its config. */
const ofRun = { needed: ["tokenizer.json", "model.safetensors"], welcome: ["calibration.json"] };
const ofHub = {
  needed: ["tokenizer.json"],
  welcome: [
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "added_tokens.json",
    "chat_template.jinja",
    "modules.json",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
  ],
};

async function downloaded(url: string, folder: string, options: IntakeOptions): Promise<Source["files"]> {
  const files: Source["files"] = {};
  const take = async (name: string, address = new URL(name, url).href): Promise<boolean> => {
    const found = await fetched(address, options.signal, "no-store"); // kept here, and never mixed with what the browser has of another time
    if (!found || isPage(found.response, name)) return false;
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    files[name] = { ...(await written(found as Incoming, path, options)), ...stamps(found.response) };
    return true;
  };
  const need = async (name: string) => {
    if (await take(name)) return;
    const own = decodeURIComponent(new URL(url).pathname).replace(/\/$/, "");
    const cure = existsSync(join(own, name)) ? `; the run of this page is { run: "${own}" }` : "";
    throw new NetworkError(`${new URL(name, url).href} is not there, and the model needs it${cure}`, { code: "network.missing" });
  };
  if (isGguf(url)) {
    const name = safeName(new URL(url).pathname);
    if (!(await take(name, url))) throw new NetworkError(`there is nothing at ${url}; check the address`, { code: "network.missing" });
    return files;
  }
  await need("config.json");
  const isRun = "training" in jsonIn(join(folder, "config.json"), new URL("config.json", url).href);
  const { needed, welcome } = isRun ? ofRun : ofHub;
  for (const name of needed) await need(name);
  for (const name of welcome) await take(name);
  if (isRun) return files;
  if (await take("model.safetensors.index.json")) {
    const { weight_map: shards } = jsonIn(join(folder, "model.safetensors.index.json"), new URL("model.safetensors.index.json", url).href);
    const names = new Set(Object.values(typeof shards === "object" && shards !== null ? shards : {}).map(String));
    for (const name of names) await need(safeName(name));
  } else await need("model.safetensors");
  return files;
}

function jsonIn(path: string, address: string): Readonly<Record<string, unknown>> {
  try {
    const found: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof found === "object" && found !== null) return found as Readonly<Record<string, unknown>>;
  } catch {
    // the same sentence
  }
  throw new FormatError("not a JSON object; is this the address of a model's folder?", { file: address });
}

/** Servers of apps answer whatever they do not know with their page. */
const isPage = ({ headers }: Response, name: string): boolean =>
  (headers.get("content-type") ?? "").startsWith("text/html") && !name.endsWith(".html");

const stamps = ({ headers }: Response) => ({ etag: headers.get("etag"), modified: headers.get("last-modified") });
