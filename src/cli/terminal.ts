import { copiesOf, deviceNamed } from "../node/devices.ts";
import { curve } from "../pictures/curve-text.ts";
import { isOfText, type Origin, type RunConfig } from "../runs/config.ts";
import type { RunEvent } from "../runs/drive.ts";

/** Where progress is written: standard error, or a stand-in. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const secondsBetweenLines = 10;
const framesPerSecond = 10;
/** The smoothed loss is the mean of so many steps at first, and then forgets at the same pace. */
const smoothedSteps = 50;

export const duration = (seconds: number): string => {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours > 0 ? `${hours}:${`${minutes}`.padStart(2, "0")}:${`${rest}`.padStart(2, "0")}` : `${minutes}:${`${rest}`.padStart(2, "0")}`;
};

const grouped = (value: number): string => Math.round(value).toLocaleString("en");

/** Shows a training run: a line that renews itself in a terminal, a line now and then elsewhere, and the loss curve at the end. */
export class Progress {
  readonly #screen: Screen;
  readonly #clock: () => number;
  readonly #losses: number[] = [];
  #smoothed = 0;
  #valid: number | undefined;
  #steps = 0;
  /** The most tokens of a validation before the end, which may score a part of what is held out. */
  #scored: number | undefined;
  #first = 0;
  #rate = 0;
  #begin = 0;
  #shown = Number.NEGATIVE_INFINITY;
  #line = "";
  /** Ranks that train together, what carries bytes between them, and the share of the time that this takes. */
  #ranks = 1;
  readonly #carrier: string;
  #exchange = 0;

  constructor(screen: Screen, clock: () => number, carrier = "") {
    this.#screen = screen;
    this.#clock = clock;
    this.#carrier = carrier;
  }

  show(event: RunEvent): void {
    switch (event.kind) {
      case "ready":
        this.#steps = event.config.training.steps;
        this.#scored = event.config.training.evalTokens;
        this.#first = event.step;
        this.#begin = this.#clock();
        this.#ranks = event.hosts?.length ?? 1;
        this.#print(introduction(event));
        if (event.hosts) this.#print(`${ranksOn(event.hosts)}, through ${this.#carrier}; ${event.config.training.threads} threads each`);
        break;
      case "chosen":
        for (const sentence of event.sentences) this.#print(sentence);
        break;
      case "warning":
        this.#print(`warning: ${event.sentence}`);
        break;
      case "step": {
        this.#losses.push(event.loss);
        this.#smoothed += (event.loss - this.#smoothed) / Math.min(smoothedSteps, this.#losses.length);
        const rate = event.tokens / event.seconds;
        const share = (event.exchange ?? 0) / event.seconds;
        this.#exchange = this.#rate === 0 ? share : 0.9 * this.#exchange + 0.1 * share;
        this.#rate = this.#rate === 0 ? rate : 0.9 * this.#rate + 0.1 * rate;
        this.#tick(event.step, event.loss);
        break;
      }
      case "validation":
        this.#valid = event.loss;
        if (event.step === 0) this.#print(`validation loss ${event.loss.toFixed(4)} before the first step`);
        else if (!this.#screen.isTTY)
          this.#print(
            `step ${grouped(event.step)}/${grouped(this.#steps)}  validation loss ${event.loss.toFixed(4)}${this.#part()}${event.improved ? "  (the best so far)" : ""}`,
          );
        break;
      case "exchange":
        this.#print(exchangeLine(event));
        break;
      case "stopped":
        this.#print(`stopped at step ${grouped(event.step)}: no improvement in ${event.waited} validations`);
        break;
      case "scored":
        this.#print(
          `validation loss ${event.loss.toFixed(4)} over all ${grouped(event.targets)} tokens, with the weights of step ${grouped(event.step)}`,
        );
        break;
      case "calibrated":
        this.#print(calibration(event));
        break;
      case "saved":
      case "interrupted":
        break;
    }
  }

  #part(): string {
    return this.#scored === undefined ? "" : ` over at most ${grouped(this.#scored)} tokens`;
  }

  /** The last line stays, and the curve of the loss comes under it. */
  end(): void {
    if (this.#screen.isTTY && this.#line) this.#screen.write("\n");
    this.#line = "";
    const picture = curve(this.#losses);
    if (picture) this.#screen.write(`\nloss over ${grouped(this.#losses.length)} steps\n${picture}\n\n`);
  }

  #tick(step: number, loss: number): void {
    const now = this.#clock();
    const last = step === this.#steps;
    const wait = this.#screen.isTTY ? 1 / framesPerSecond : secondsBetweenLines;
    if (now - this.#shown < wait && !last) return;
    this.#shown = now;
    const done = step - this.#first;
    const left = done > 0 ? ((now - this.#begin) / done) * (this.#steps - step) : 0;
    const facts = [
      `step ${grouped(step)}/${grouped(this.#steps)}`,
      ...(this.#screen.isTTY ? [bar(step / this.#steps)] : []),
      `loss ${loss.toFixed(3)} (smoothed ${this.#smoothed.toFixed(3)})`,
      ...(this.#valid === undefined ? [] : [`valid ${this.#valid.toFixed(3)}`]),
      `${grouped(this.#rate)} tokens/s`,
      ...(this.#ranks > 1 ? [`${grouped(this.#rate / this.#ranks)} a rank, ${(100 * this.#exchange).toFixed(0)} % exchanging`] : []),
      last ? `${duration(now - this.#begin)} in all` : `${duration(left)} left`,
    ].join("  ");
    if (this.#screen.isTTY) {
      this.#line = facts.slice(0, Math.max(20, (this.#screen.columns ?? 100) - 1));
      this.#screen.write(`\r\x1b[K${this.#line}`);
    } else this.#print(facts);
  }

  /** A line that stays; in a terminal the renewed line moves under it. */
  #print(text: string): void {
    if (this.#screen.isTTY && this.#line) this.#screen.write(`\r\x1b[K${text}\n${this.#line}`);
    else this.#screen.write(`${text}\n`);
  }
}

/** What a classifier is worth at the end, in a line. */
const calibration = ({ accuracy, f1, ece, eceBefore, temperature, examples }: Extract<RunEvent, { kind: "calibrated" }>): string =>
  `on ${grouped(examples)} held-out examples: accuracy ${accuracy.toFixed(4)}, F1 ${f1.toFixed(4)}, calibration error ${ece.toFixed(4)} (${eceBefore.toFixed(4)} without the temperature of ${temperature.toFixed(2)})`;

function bar(share: number): string {
  const full = Math.round(share * 24);
  return `${"━".repeat(full)}${"─".repeat(24 - full)} ${`${Math.floor(share * 100)}`.padStart(3)} %`;
}

function introduction({ folder, config, parameters, trained, padding, step, perEpoch }: Extract<RunEvent, { kind: "ready" }>): string {
  const { model, task, tokenizer, data, training, from } = config;
  const frozen = trained === parameters ? "" : ` (${grouped(trained)} trained, ${grouped(parameters - trained)} frozen)`;
  const amounts = isOfText(config) ? `${grouped(data.train)} bytes of text` : `${grouped(data.train)} examples`;
  const held = data.valid === 0 ? "" : `, ${grouped(data.valid)} held out`;
  const lines = [
    `${model.model} with ${grouped(parameters)} parameters${frozen}, for ${task}; ${tokenizer.kind} tokenizer of ${grouped(model.vocab)} entries, context ${model.context}`,
    `${amounts}${held}; an epoch is ${grouped(perEpoch)} batches of ${grouped(training.batch * (training.accumulates ? training.accumulate : 1))}${padding > 0 ? `, ${(100 * padding).toFixed(1)} % of them padding` : ""}`,
    ...(from ? [`from ${originOf(config, from)}`] : []),
    ...(training.device ? [`on ${training.device}; copied in each step: ${copiesOf(deviceNamed(training.device))}`] : []),
    step > 0 ? `going on at step ${grouped(step)} in ${folder}` : `into ${folder}`,
  ];
  return lines.join("\n");
}

/** How many ranks there are, and how many of them on each host. */
function ranksOn(hosts: readonly string[]): string {
  const each = [...new Set(hosts)].map((host) => `${host}: ${hosts.filter((one) => one === host).length}`);
  return `${hosts.length} ranks on ${each.length} host${each.length > 1 ? "s" : ""} (${each.join(", ")})`;
}

/** Where the first weights are from, and which labels were not known there. */
function originOf({ labels = [] }: RunConfig, { run, step, labels: known = 0 }: Origin): string {
  const fresh = labels.slice(known);
  const names = fresh.length === 0 ? "" : `; new labels: ${fresh.slice(0, 12).join(", ")}${fresh.length > 12 ? ", …" : ""}`;
  return `${run}, step ${grouped(step)}${names}`;
}

/** How ranks exchange gradients, and what the other way takes. */
function exchangeLine({ way, share, stepSeconds: { after, meanwhile }, untried }: Extract<RunEvent, { kind: "exchange" }>): string {
  const takes = (seconds: number) => `${(1000 * seconds).toFixed(seconds < 0.1 ? 1 : 0)} ms a step`;
  const chosen =
    way === "after" ? "gradients are exchanged after all are computed" : "half of the gradients are exchanged while the rest is computed";
  if (untried === "little") return `${chosen}: that is ${(100 * share).toFixed(0)} % of a step`;
  if (untried === "memory")
    return `${chosen}: that is ${(100 * share).toFixed(0)} % of a step, but to do it meanwhile there is not the memory`;
  const [own, other] = way === "after" ? [after, meanwhile ?? 0] : [meanwhile ?? 0, after];
  return `${chosen}: ${takes(own)}, and ${takes(other)} the other way`;
}
