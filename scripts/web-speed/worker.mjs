// What all contestants of scripts/web-speed.mjs share: a worker that answers calls, and the GPT that each of them trains.

/** W1 of bench/README.md: its sizes, in the names that everybody uses for them. */
export const sizes = { L: 4, H: 4, C: 128, T: 64, B: 12, V: 65 };

/** Shapes of the parameters: biases, pre-norm, exact GELU, tied output. */
export function shapes({ L, C, T, V }) {
  const layer = (l) => ({
    [`${l}.g1`]: [C],
    [`${l}.b1`]: [C],
    [`${l}.wq`]: [C, 3 * C],
    [`${l}.bq`]: [3 * C],
    [`${l}.wo`]: [C, C],
    [`${l}.bo`]: [C],
    [`${l}.g2`]: [C],
    [`${l}.b2`]: [C],
    [`${l}.w1`]: [C, 4 * C],
    [`${l}.c1`]: [4 * C],
    [`${l}.w2`]: [4 * C, C],
    [`${l}.c2`]: [C],
  });
  return Object.assign({ wte: [V, C], wpe: [T, C], g: [C], b: [C] }, ...Array.from({ length: L }, (_, l) => layer(l)));
}

/** Small random numbers for matrices, 1 for gains, 0 for biases. */
export function initial(name, shape) {
  const count = shape.reduce((a, b) => a * b, 1);
  const last = name.split(".").pop();
  if (last.startsWith("g")) return new Float32Array(count).fill(1);
  if (shape.length === 1) return new Float32Array(count);
  let state = 12345 + name.length * 7919 + count;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return Float32Array.from({ length: count }, () => 0.02 * Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
}

/** Windows of a made-up text with some order in it, as in src/bench/workloads.ts. */
export function batch(step, { B, T, V }) {
  const text = (at) => (Math.floor((at * at) / 7) + at) % V;
  const starts = Array.from({ length: B }, (_, row) => (step * 7919 + row * 104729) % 20_000);
  const window = (shift) => Int32Array.from(starts.flatMap((start) => Array.from({ length: T }, (_, t) => text(start + shift + t))));
  return { ids: window(0), targets: window(1) };
}

/** Answers `{ id, name, options }` by the method of this name. */
export function serve(methods) {
  self.onmessage = async ({ data: { id, name, options } }) => {
    if (id === undefined) return;
    try {
      self.postMessage({ id, result: await methods[name](options ?? {}) });
    } catch (error) {
      self.postMessage({ id, error: String(error?.stack ?? error) });
    }
  };
}

/** Milliseconds of each of so many steps. */
export async function timed(count, step) {
  const times = [];
  let loss = 0;
  for (let i = 0; i < count; i++) {
    const from = performance.now();
    loss = await step();
    times.push(performance.now() - from);
  }
  return { times, loss };
}
