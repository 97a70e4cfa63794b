// Numbers for whoever watches, in the text format of Prometheus.

type Labels = Readonly<Record<string, string | number>>;

const keyOf = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${`${value}`.replace(/[\\"\n]/g, (c) => (c === "\n" ? "\\n" : `\\${c}`))}"`)
    .join(",");

const line = (name: string, key: string, value: number): string => `${name}${key === "" ? "" : `{${key}}`} ${value}`;

/** Something that only grows. */
export class Counter {
  readonly #values = new Map<string, number>();

  add(labels: Labels, value = 1): void {
    const key = keyOf(labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + value);
  }

  lines(name: string): string[] {
    return [...this.#values].map(([key, value]) => line(name, key, value));
  }
}

/** How long things take: how many took at most so many seconds. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #values = new Map<string, { counts: number[]; sum: number; count: number }>();

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  add(labels: Labels, value: number): void {
    const key = keyOf(labels);
    const found = this.#values.get(key) ?? { counts: this.#bounds.map(() => 0), sum: 0, count: 0 };
    this.#values.set(key, found);
    for (const [i, bound] of this.#bounds.entries()) if (value <= bound) found.counts[i]++;
    found.sum += value;
    found.count++;
  }

  lines(name: string): string[] {
    return [...this.#values].flatMap(([key, { counts, sum, count }]) => {
      const comma = key === "" ? "" : ",";
      return [
        ...this.#bounds.map((bound, i) => line(`${name}_bucket`, `${key}${comma}le="${bound}"`, counts[i])),
        line(`${name}_bucket`, `${key}${comma}le="+Inf"`, count),
        line(`${name}_sum`, key, sum),
        line(`${name}_count`, key, count),
      ];
    });
  }
}

/** Something that is read when it is asked for. */
export class Gauge {
  readonly #read: () => readonly (readonly [Labels, number])[];

  constructor(read: () => readonly (readonly [Labels, number])[]) {
    this.#read = read;
  }

  lines(name: string): string[] {
    return this.#read().map(([labels, value]) => line(name, keyOf(labels), value));
  }
}

export interface Metric {
  readonly help: string;
  readonly of: Counter | Histogram | Gauge;
}

const typeOf = (of: Metric["of"]): string => (of instanceof Counter ? "counter" : of instanceof Histogram ? "histogram" : "gauge");

/** All of them, as a text. */
export const metricsText = (metrics: Readonly<Record<string, Metric>>): string =>
  Object.entries(metrics)
    .flatMap(([name, { help, of }]) => [`# HELP ${name} ${help}`, `# TYPE ${name} ${typeOf(of)}`, ...of.lines(name)])
    .join("\n")
    .concat("\n");
