// A training step of W1 in jax-js on WebAssembly: loss, gradients and Adam as one compiled function, which takes what it changes and gives it back.
import { blockUntilReady, defaultDevice, init, jit, nn, numpy as np, scipySpecial as special, tree, valueAndGrad } from "@jax-js/jax";
import { batch, initial, serve, shapes, sizes, timed } from "./worker.mjs";

const { L, H, C, T, B, V } = sizes;
const [N, D] = [B * T, C / H];
const names = Object.keys(shapes(sizes));
const [rate, beta1, beta2] = [1e-3, 0.9, 0.99];

// An array is used up by whoever is given it; `.ref` keeps it for another use.
const norm = (x, g, b) => nn.standardize(x, -1, { epsilon: 1e-5 }).mul(g).add(b);
const linear = (x, w, b) => np.matmul(x, w).add(b);
const gelu = (u) => u.ref.mul(special.erf(u.mul(Math.SQRT1_2)).add(1)).mul(0.5);

function lossOf(p, ids, targets, mask) {
  let x = np.matmul(ids, p.wte.ref).reshape([B, T, C]).add(p.wpe).reshape([N, C]);
  for (let l = 0; l < L; l++) {
    const w = (name) => p[`${l}.${name}`];
    const parts = np.split(linear(norm(x.ref, w("g1"), w("b1")), w("wq"), w("bq")), 3, 1);
    const [q, k, v] = parts.map((part) => part.reshape([B, T, H, D]).transpose([0, 2, 1, 3]));
    const scores = np
      .matmul(q, k.transpose([0, 1, 3, 2]))
      .mul(D ** -0.5)
      .add(mask.ref);
    const joined = np.matmul(nn.softmax(scores, -1), v).transpose([0, 2, 1, 3]).reshape([N, C]);
    x = x.add(linear(joined, w("wo"), w("bo")));
    x = x.ref.add(linear(gelu(linear(norm(x, w("g2"), w("b2")), w("w1"), w("c1"))), w("w2"), w("c2")));
  }
  mask.dispose();
  const scores = np.matmul(norm(x, p.g, p.b), p.wte.transpose());
  return nn
    .logSoftmax(scores, -1)
    .mul(targets)
    .sum()
    .mul(-1 / N);
}

const trained = jit((p, m, v, ids, targets, mask, correct1, correct2) => {
  const [loss, gradient] = valueAndGrad(lossOf)(tree.ref(p), ids, targets, mask);
  const next = { p: {}, m: {}, v: {} };
  for (const name of names) {
    const g = gradient[name];
    const first = m[name].mul(beta1).add(g.ref.mul(1 - beta1));
    const second = v[name].mul(beta2).add(g.ref.mul(g).mul(1 - beta2));
    next.m[name] = first.ref;
    next.v[name] = second.ref;
    const change = first.mul(correct1.ref).div(np.sqrt(second.mul(correct2.ref)).add(1e-8));
    next.p[name] = p[name].sub(change.mul(rate));
  }
  correct1.dispose();
  correct2.dispose();
  return { loss, next };
});

let [state, mask, steps] = [undefined, undefined, 0];

async function step() {
  const { ids, targets } = batch(steps++, sizes);
  const [a, b] = [ids, targets].map((numbers) => {
    const rows = new Float32Array(N * V);
    for (const [i, id] of numbers.entries()) rows[i * V + id] = 1;
    return np.array(rows).reshape([N, V]);
  });
  const corrections = [beta1, beta2].map((beta) => np.array(Float32Array.of(1 / (1 - beta ** steps))));
  const { p, m, v } = state;
  const { loss, next } = trained(p, m, v, a, b, mask.ref, ...corrections);
  state = await blockUntilReady(next); // it is lazy: without this a step would be timed without its backward pass, and the next one with two
  const [value] = await loss.data();
  return value;
}

serve({
  async prepare() {
    await init("wasm");
    defaultDevice("wasm");
    const arrays = (make) =>
      Object.fromEntries(Object.entries(shapes(sizes)).map(([name, shape]) => [name, np.array(make(name, shape)).reshape(shape)]));
    const zeros = (_, shape) => new Float32Array(shape.reduce((a, b) => a * b, 1));
    state = { p: arrays(initial), m: arrays(zeros), v: arrays(zeros) };
    const hidden = Float32Array.from({ length: T * T }, (_, i) => (i % T > Math.floor(i / T) ? -1e9 : 0));
    mask = np.array(hidden).reshape([1, 1, T, T]);
    return { first: await step(), about: "jax-js, wasm" };
  },
  steps: ({ count }) => timed(count, step),
});
