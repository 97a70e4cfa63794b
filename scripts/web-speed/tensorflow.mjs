// A training step of W1 in TensorFlow.js on WebAssembly, tuned: look-ups are products with one-hot rows, because the way back through a gather has no kernel
// there; its product is quick only for matrices that are not transposed on the way, so both ways through it transpose first (ten times as fast in all);
// sums of rows are products; everything of a step is inside one tidy.
import * as tf from "@tensorflow/tfjs";
import { setThreadsCount, setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import { batch, initial, serve, shapes, sizes, timed } from "./worker.mjs";

const { L, H, C, T, B, V } = sizes;
const [N, D] = [B * T, C / H];
let [p, optimizer, mask, steps] = [{}, undefined, undefined, 0];

const turned = (x) => tf.transpose(x, x.rank === 2 ? [1, 0] : [0, 1, 3, 2]);
const matmul = tf.customGrad((a, b, save) => {
  save([a, b]);
  return {
    value: tf.matMul(a, b),
    gradFunc: (dy, [x, y]) => [tf.matMul(dy, turned(y)), tf.matMul(turned(x), dy)],
  };
});
/** Adds a vector to rows; what goes back to it is a product with ones. */
const plus = tf.customGrad((x, b) => ({
  value: tf.add(x, b),
  gradFunc: (dy) => [dy, tf.matMul(tf.ones([1, dy.shape[0]]), dy).reshape(b.shape)],
}));
const times = tf.customGrad((x, g, save) => {
  save([x, g]);
  return {
    value: tf.mul(x, g),
    gradFunc: (dy, [y, h]) => [tf.mul(dy, h), tf.matMul(tf.ones([1, dy.shape[0]]), tf.mul(dy, y)).reshape(h.shape)],
  };
});
const norm = (x, g, b) => {
  const centred = x.sub(x.mean(-1, true));
  return plus(times(centred.mul(centred.square().mean(-1, true).add(1e-5).rsqrt()), g), b);
};
const linear = (x, w, b) => plus(matmul(x, w), b);
const gelu = (u) => u.mul(tf.erf(u.mul(Math.SQRT1_2)).add(1)).mul(0.5);

function lossOf(ids, targets) {
  let x = matmul(ids, p.wte).reshape([B, T, C]).add(p.wpe).reshape([N, C]);
  for (let l = 0; l < L; l++) {
    const w = (name) => p[`${l}.${name}`];
    const heads = tf.split(linear(norm(x, w("g1"), w("b1")), w("wq"), w("bq")), 3, 1);
    const [q, k, v] = heads.map((part) => part.reshape([B, T, H, D]).transpose([0, 2, 1, 3]));
    const pattern = tf.softmax(
      tf
        .matMul(q, k, false, true)
        .mul(D ** -0.5)
        .add(mask),
    );
    const joined = matmul(pattern, v).transpose([0, 2, 1, 3]).reshape([N, C]);
    x = x.add(linear(joined, w("wo"), w("bo")));
    x = x.add(linear(gelu(linear(norm(x, w("g2"), w("b2")), w("w1"), w("c1"))), w("w2"), w("c2")));
  }
  const scores = matmul(norm(x, p.g, p.b), turned(p.wte));
  return tf
    .logSoftmax(scores)
    .mul(targets)
    .sum()
    .mul(-1 / N);
}

async function step() {
  const { ids, targets } = batch(steps++, sizes);
  const loss = tf.tidy(() => {
    const [a, b] = [ids, targets].map((numbers) => tf.oneHot(tf.tensor1d(numbers, "int32"), V).toFloat());
    return optimizer.minimize(() => lossOf(a, b), true);
  });
  const [value] = await loss.data();
  loss.dispose();
  return value;
}

serve({
  async prepare({ threads, folder }) {
    setWasmPaths(folder);
    setThreadsCount(threads);
    await tf.setBackend("wasm");
    await tf.ready();
    p = Object.fromEntries(
      Object.entries(shapes(sizes)).map(([name, shape]) => [name, tf.variable(tf.tensor(initial(name, shape), shape))]),
    );
    const hidden = Float32Array.from({ length: T * T }, (_, i) => (i % T > Math.floor(i / T) ? -1e9 : 0));
    mask = tf.keep(tf.tensor(hidden, [1, 1, T, T]));
    optimizer = tf.train.adam(1e-3, 0.9, 0.99, 1e-8);
    return { first: await step(), about: `TensorFlow.js ${tf.version.tfjs}, ${tf.getBackend()}` };
  },
  steps: ({ count }) => timed(count, step),
});
