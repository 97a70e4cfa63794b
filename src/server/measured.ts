import type { Models } from "../processes/models.ts";
import type { Admission } from "./admission.ts";
import type { CallFacts } from "./call.ts";
import { Counter, Gauge, Histogram, type Metric } from "./metrics.ts";

const times = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];

/** What /metrics tells. */
export class Measured {
  readonly metrics: Readonly<Record<string, Metric>>;
  readonly #requests = new Counter();
  readonly #tokens = { in: new Counter(), out: new Counter() };
  readonly #first = new Histogram(times);
  readonly #each = new Histogram(times);

  constructor(models: Models, admission: Admission) {
    const each = (read: (status: Models["statuses"][number]) => number | undefined) =>
      new Gauge(() =>
        models.statuses.flatMap((status) => {
          const value = read(status);
          return value === undefined ? [] : [[{ model: status.name }, value] as const];
        }),
      );
    this.metrics = {
      qkv_requests_total: { help: "Requests that are over, by path and status.", of: this.#requests },
      qkv_requests_running: { help: "Requests that are not over.", of: new Gauge(() => [[{}, admission.inside]]) },
      qkv_requests_waiting: { help: "Requests that wait to be begun.", of: new Gauge(() => [[{}, admission.waiting]]) },
      qkv_tokens_read_total: { help: "Tokens of prompts and texts.", of: this.#tokens.in },
      qkv_tokens_written_total: { help: "Tokens that were written.", of: this.#tokens.out },
      qkv_time_to_first_token_seconds: { help: "From a request to its first token.", of: this.#first },
      qkv_time_per_token_seconds: { help: "From one token of a text to its next.", of: this.#each },
      qkv_model_up: { help: "Whether a model is open.", of: each(({ state }) => (state === "ready" ? 1 : 0)) },
      qkv_model_crashes: { help: "How often its process ended by itself.", of: each(({ crashes }) => crashes) },
      qkv_batch_rows: { help: "Texts that are written together.", of: each(({ load }) => load?.rows) },
      qkv_batch_waiting: { help: "Texts that wait for a row.", of: each(({ load }) => load?.waiting) },
      qkv_cache_bytes: { help: "Bytes of keys and values that are kept.", of: each(({ load }) => load?.kept) },
      qkv_model_memory_bytes: { help: "Bytes of the process that computes.", of: each(({ load }) => load?.memory) },
    };
  }

  /** Paths that there are not are one: nobody may make numbers without end. */
  request(path: string, status: number, { model = "", promptTokens = 0, completionTokens = 0, firstToken, perToken }: CallFacts): void {
    this.#requests.add({ path, status });
    if (promptTokens > 0) this.#tokens.in.add({ model }, promptTokens);
    if (completionTokens > 0) this.#tokens.out.add({ model }, completionTokens);
    if (firstToken !== undefined) this.#first.add({ model }, firstToken);
    if (perToken !== undefined) this.#each.add({ model }, perToken);
  }
}
