import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { Option } from "commander";
import { ConfigError, RunError } from "../base/errors.ts";
import type { DeviceName } from "../node/devices.ts";
import { freeMemory } from "../node/machine.ts";
import type { ModelSettings } from "../processes/model-settings.ts";
import { AskError } from "../protocol/asking.ts";
import type { Precision } from "../runtime/device.ts";
import { precisions } from "../runtime/device.ts";
import { listen } from "../server/listen.ts";
import { type LogLine, ModelServer } from "../server/server.ts";
import { bareCommand } from "./commands.ts";
import { deviceFlag } from "./device-flag.ts";
import { addFlags } from "./flags.ts";
import { signals } from "./interrupt.ts";
import { aboveZero, bytes, countFromZero, positive, several, wholeNumber } from "./values.ts";

interface Options {
  readonly port: number;
  readonly host: string;
  readonly apiKey?: string;
  readonly apiKeyFile?: string;
  readonly allowHost?: readonly string[];
  readonly cors?: readonly string[];
  readonly maxWaiting: number;
  readonly memory?: number;
  readonly grace: number;
  readonly queueSeconds: number;
  readonly requestSeconds: number;
  readonly readSeconds: number;
  readonly watchdog: number;
  readonly rows: number;
  readonly piece: number;
  readonly share: boolean;
  readonly weights?: Precision;
  readonly adapter?: string;
  readonly threads?: number;
  readonly device?: DeviceName;
  readonly logTexts?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

const flags: readonly Option[] = [
  new Option("--port <n>", "the port; 0 for any that is free").argParser(countFromZero).default(8080),
  new Option("--host <address>", "the address to listen on; another than this machine's own wants --api-key").default("127.0.0.1"),
  new Option("--api-key <key>", "wanted of every request but /health (also from the environment: QKV_API_KEY)"),
  new Option("--api-key-file <file>", "the same, from the first line of a file"),
  new Option("--allow-host <name>", "a name by which the server may be called, such as that of a proxy (may be given again)").argParser(
    several,
  ),
  new Option("--cors <origin>", "pages of this origin may ask, such as https://example.com (may be given again)").argParser(several),
  new Option("--max-waiting <n>", "requests that may wait; more are turned away with 429").argParser(wholeNumber).default(512),
  new Option(
    "--memory <size>",
    "for all models together, such as 6GB; the one not asked for longest makes room (default: 80 % of what is free)",
  ).argParser(bytes),
  new Option("--grace <seconds>", "how long requests may go on when the server is told to stop").argParser(positive).default(30),
  new Option("--queue-seconds <n>", "how long a request may wait to be begun").argParser(aboveZero).default(120),
  new Option("--request-seconds <n>", "how long a request may take in all").argParser(aboveZero).default(600),
  new Option("--read-seconds <n>", "how long a client may leave a stream unread before it is dropped").argParser(aboveZero).default(30),
  new Option("--watchdog <seconds>", "a process that gives no sign of life for so long is ended and started again")
    .argParser(aboveZero)
    .default(60),
  new Option("--rows <n>", "texts that are written at once by each model").argParser(wholeNumber).default(64),
  new Option("--piece <tokens>", "tokens of prompts that are read between two tokens of the others").argParser(wholeNumber).default(128),
  new Option("--no-share", "read what prompts have in common for each of them"),
  new Option("--weights <precision>", "as they were trained, or rounded to 8 or 4 bits: smaller and faster, a little worse").choices(
    precisions,
  ),
  new Option("--adapter <folder>", "an adapter to put into the model: a run trained with --lora from it, or a folder that PEFT wrote"),
  new Option("--threads <n>", "threads of the engine, for each model").argParser(wholeNumber),
  deviceFlag(),
  new Option("--log-texts", "log lines have what was asked and written"),
  new Option("--quiet", "no log"),
  new Option("--json", "one line of JSON on standard output when the models are open; the log goes to standard error as ever"),
];

export const serve = addFlags(bareCommand("serve"), flags);

serve.action(async (given: string[], options: Options) => {
  const models = modelsOf(given, options);
  const apiKey = keyOf(options);
  const { host, port, json } = options;
  if (!isLocal(host) && apiKey === undefined)
    throw new ConfigError(`--host ${host} lets others in, so an API key is wanted: give --api-key-file <file> or set QKV_API_KEY`, {
      code: "config.conflict",
    });
  const log = options.quiet ? undefined : (line: LogLine) => void process.stderr.write(`${JSON.stringify(line)}\n`);
  const server = new ModelServer(models, {
    memory: options.memory ?? 0.8 * freeMemory(),
    maxWaiting: options.maxWaiting,
    apiKey,
    hosts: ["localhost", host.toLowerCase(), ...(options.allowHost ?? []).map(hostName)],
    cors: (options.cors ?? []).map(origin),
    queueSeconds: options.queueSeconds,
    requestSeconds: options.requestSeconds,
    patienceSeconds: options.readSeconds,
    watchdogSeconds: options.watchdog,
    log,
    logTexts: options.logTexts === true,
  });
  const listening = await listen(server, { port, host, patienceSeconds: options.readSeconds });
  const stop = stopping();
  try {
    await Promise.race([opened(server), stop.asked]);
  } catch (error) {
    await listening.close(0);
    throw error;
  }
  const { url } = listening;
  if (stop.signal.aborted) return listening.close(0);
  if (json) console.log(JSON.stringify({ url, host, port: listening.port, pid: process.pid, models: Object.keys(models) }));
  else console.log(welcome(url, Object.keys(models), server));
  await stop.asked;
  await listening.close(options.grace);
  process.exitCode = 0;
});

/** What is wrong with a model is said before anybody asks it. */
async function opened(server: ModelServer): Promise<void> {
  try {
    await server.open();
  } catch (error) {
    throw error instanceof AskError ? new RunError(error.told.message) : error;
  }
}

function welcome(url: string, names: readonly string[], server: ModelServer): string {
  const [{ facts }] = server.models;
  const body = facts?.writes
    ? `/v1/completions -H 'Content-Type: application/json' -d '{"prompt": "Call me", "stream": true}'`
    : "/v1/models";
  return [`${names.join(", ")} at ${url} (a page to try it, and the API under ${url}/v1)`, `curl ${url}${body}`].join("\n");
}

/** The first signal asks to stop; a second ends at once. */
function stopping(): { readonly signal: AbortSignal; readonly asked: Promise<void> } {
  const stop = new AbortController();
  const asked = new Promise<void>((resolve) => stop.signal.addEventListener("abort", () => resolve(), { once: true }));
  for (const signal of signals) process.on(signal, () => (stop.signal.aborted ? process.exit(130) : stop.abort()));
  return { signal: stop.signal, asked };
}

const isLocal = (host: string): boolean => host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);

/** What can never be the name of a host would let nobody in. */
function hostName(name: string): string {
  if (!/^[\w-]+(\.[\w-]+)*$/.test(name))
    throw new ConfigError(`--allow-host: a name is wanted, without https:// and a port, such as models.example.com, not ${name}`, {
      code: "config.range",
    });
  return name.toLowerCase();
}

function origin(given: string): string {
  const found = URL.canParse(given) ? new URL(given).origin : "null";
  if (found === "null" || found !== given.toLowerCase())
    throw new ConfigError(
      `--cors: an origin is wanted, as a browser sends it, such as https://example.com or http://localhost:3000, not ${given}`,
      { code: "config.range" },
    );
  return found;
}

function keyOf({ apiKey, apiKeyFile }: Options): string | undefined {
  if (apiKey !== undefined && apiKeyFile !== undefined)
    throw new ConfigError("--api-key and --api-key-file are two ways to say one thing; give one of them");
  const key = apiKeyFile === undefined ? (apiKey ?? process.env.QKV_API_KEY) : firstLine(apiKeyFile);
  if (key === undefined) return undefined;
  if (!/^[\x21-\x7e]+$/.test(key)) throw new ConfigError("an API key is made of letters, digits and signs without spaces, at least one");
  return key;
}

function firstLine(file: string): string {
  try {
    return readFileSync(file, "utf8").split(/\r?\n/)[0].trim();
  } catch (error) {
    throw new RunError(`the API key could not be read: ${error instanceof Error ? error.message : error}`);
  }
}

/** `folder`, which is called by its last name, or `name=folder`. */
function modelsOf(
  given: readonly string[],
  { threads, device, weights, adapter, rows, piece, share }: Options,
): Record<string, ModelSettings> {
  const models: Record<string, ModelSettings> = {};
  if (adapter !== undefined && given.length > 1)
    throw new ConfigError("--adapter is put into one model; serve it alone, or merge it first: qkv merge");
  for (const word of given) {
    const [, name = basename(resolve(word)), folder] = /^(?:([\w.-]+)=)?(.+)$/s.exec(word) ?? ["", undefined, word];
    if (Object.hasOwn(models, name))
      throw new ConfigError(`two models would be called ${name}; give them names: qkv serve first=${folder} second=…`);
    models[name] = {
      folder,
      rows,
      piece,
      share,
      ...(threads !== undefined && { threads }),
      ...(device !== undefined && { device }),
      ...(weights && { precision: weights }),
      ...(adapter !== undefined && { adapter }),
    };
  }
  return models;
}
