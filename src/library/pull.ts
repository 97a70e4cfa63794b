import { ConfigError, FormatError, NetworkError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { GrowingFile, PartFolder } from "../disk/part-folder.ts";
import { refuseTakenFolder, type WholeFolder, writeWholeFolder } from "../disk/whole-folder.ts";
import { checkId, type HubFile, isPulled, repositoryOf, wantedFiles } from "../hub/repository.ts";
import { ask, type Hub, Later, patience, persistently, urlOf } from "./web.ts";

// A model from a hub. Files grow in `<out>.part`, each under its checksum, so that whatever was killed goes on where it was, and nothing of
// another revision is taken for it. When all are there and right, the folder gets its name.

export const usualEndpoint = "https://huggingface.co";

/** From where, and to where. */
export interface PullOptions extends Partial<Omit<Hub, "endpoint">> {
  /** The folder that is written, whole or not at all. */
  readonly out: string;
  /** The hub, or a mirror of it; https://huggingface.co if left out. */
  readonly endpoint?: string | undefined;
  /** A branch, a tag or a commit; main if left out. */
  readonly revision?: string;
  /** One .gguf file, and nothing else. */
  readonly gguf?: string;
  /** Replace a model that is there. */
  readonly overwrite?: boolean;
  /** Called as bytes come. */
  readonly listen?: (event: PullEvent) => void;
}

/** How far a download is. */
export interface PullEvent {
  /** The one that comes at this moment. */
  readonly file: string;
  /** Bytes that are here, of all files, and how many of them were here before. */
  readonly bytes: number;
  readonly begun: number;
  /** Bytes of all files. */
  readonly total: number;
}

/** What came. */
export interface Pulled {
  readonly folder: string;
  readonly id: string;
  /** What the revision was at that moment. */
  readonly commit: string;
  readonly files: readonly string[];
  readonly bytes: number;
}

/** Downloads a model that can be opened: its config, its tokenizer and its weights in safetensors. */
export async function pull(id: string, options: PullOptions): Promise<Pulled> {
  checkId(id);
  const { out, revision = "main", gguf, overwrite, listen = () => {} } = options;
  const hub: Hub = { ...options, endpoint: checkedEndpoint(options.endpoint ?? usualEndpoint) };
  checkRevision(revision);
  const place: WholeFolder = { folder: out, overwrite, what: "a model of a hub", owns: isPulled };
  refuseTakenFolder(place);
  const { commit, files } = await asked(hub, id, revision);
  const wanted = wantedFiles(files, id, gguf);
  const part = new PartFolder(`${out.replace(/[\\/]+$/, "")}.part`);
  const release = part.take();
  try {
    const different = [...new Map(wanted.map((file) => [file.sum.hex, file])).values()]; // two names may have one content
    part.refuseFull(different);
    const total = sum(different.map((file) => file.bytes));
    const begun = sum(different.map((file) => part.has(file)));
    let bytes = begun;
    for (const file of different) {
      const came = (more: number) => {
        bytes += more;
        listen({ file: file.path, bytes, begun, total });
      };
      await download(hub, `/${id}/resolve/${commit}/${encodedPath(file.path)}`, file, part.place(file), came);
    }
    await writeWholeFolder(place, (folder) => {
      for (const file of wanted) part.link(file, folder);
    });
    part.remove();
    return { folder: out, id, commit, files: wanted.map(({ path }) => path), bytes: total };
  } finally {
    release();
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** Goes on with what there is of a file until all of it is there and right. */
async function download(hub: Hub, path: string, file: HubFile, to: string, came: (bytes: number) => void): Promise<void> {
  const growing = await GrowingFile.open(file, to);
  try {
    if (growing.right) return;
    if (growing.size === file.bytes) restart(growing, came);
    let spoilt = 0;
    await persistently(hub, async (progress) => {
      await more(hub, path, file, growing, (bytes) => {
        came(bytes);
        if (bytes > 0) progress();
      });
      if (growing.right) return;
      restart(growing, came);
      if (++spoilt > 1)
        throw new NetworkError(
          `${hub.endpoint} sends something else than the ${file.path} that it announces (its ${file.sum.kind === "git" ? "git checksum" : "SHA-256"} differs), twice; nothing of it is kept`,
          { code: "network.damaged" },
        );
      throw new Later(`${file.path} came damaged`);
    });
  } finally {
    growing.close();
  }
}

function restart(growing: GrowingFile, came: (bytes: number) => void): void {
  came(-growing.size);
  growing.empty();
}

/** One connection: from where the file ends to where it should, or to where the connection breaks off. */
async function more(hub: Hub, path: string, file: HubFile, growing: GrowingFile, came: (bytes: number) => void): Promise<void> {
  const quiet = new AbortController();
  const signal = hub.signal ? AbortSignal.any([quiet.signal, hub.signal]) : quiet.signal;
  let timer = setTimeout(() => quiet.abort(), patience);
  try {
    const range: Record<string, string> = growing.size > 0 ? { Range: `bytes=${growing.size}-` } : {};
    const response = await ask(hub, path, { "Accept-Encoding": "identity", ...range }, signal);
    const from = Number(/^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1] ?? 0);
    if (response.status !== 206 || from !== growing.size) restart(growing, came); // it sends all of it
    if (response.status === 206 && from !== growing.size) throw new Later(`${hub.endpoint} sends another part than it was asked for`);
    for await (const chunk of chunksOf(response)) {
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), patience);
      if (growing.size + chunk.length > file.bytes)
        throw new NetworkError(
          `${hub.endpoint} sends more of ${file.path} than the ${file.bytes.toLocaleString("en")} bytes that it announces`,
          {
            code: "network.damaged",
          },
        );
      growing.append(chunk);
      came(chunk.length);
    }
    if (growing.size < file.bytes) throw new Later(`${hub.endpoint} broke off ${file.path}`);
  } finally {
    clearTimeout(timer);
  }
}

const encodedPath = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

function checkedEndpoint(given: string): string {
  const url = urlOf(given);
  const plain = url && ["http:", "https:"].includes(url.protocol) && url.username === "" && url.password === "" && url.search === "";
  if (plain) return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
  throw new ConfigError(
    sentence`a hub is an address such as ${usualEndpoint}, without a user or a password in it; change ${setting("endpoint")}`,
    {
      code: "config.type",
      path: "endpoint",
    },
  );
}

function checkRevision(revision: string): void {
  if (/^[\w.-]+(\/[\w.-]+)*$/.test(revision) && !revision.split("/").some((part) => /^\.+$/.test(part))) return;
  throw new ConfigError("a branch, a tag or a commit is wanted, such as main", { code: "config.type", path: "revision" });
}

const longestAnswer = 50_000_000;

/** What the hub has of a model. */
function asked(hub: Hub, id: string, revision: string) {
  return persistently(hub, async () => {
    const signal = AbortSignal.any([AbortSignal.timeout(patience), ...(hub.signal ? [hub.signal] : [])]);
    const path = `/api/models/${id}/revision/${encodeURIComponent(revision)}?blobs=true`;
    const response = await ask(hub, path, { Accept: "application/json" }, signal);
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of chunksOf(response)) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > longestAnswer) throw new FormatError(`${hub.endpoint} says too much of ${id}`);
    }
    return repositoryOf(parsed(text, hub.endpoint), hub.endpoint);
  });
}

function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new FormatError(`${where} answers in a way that is not understood (no JSON); is it a hub of models?`, { cause });
  }
}

async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {}); // what was left is not wanted
  }
}
