// AssemblyScript: TypeScript's syntax, compiled to WebAssembly with 128-bit vectors. Buffers are addresses in the module's memory.

/** Σ x²: stretches of 4,096 numbers in float32, the stretches in float64. */
export function sumSquares(x: usize, count: i32): f64 {
  let total: f64 = 0;
  const end = x + (<usize>count << 2);
  let at = x;
  while (at + 64 <= end) {
    const stop = min(end - 63, at + 16384);
    let a = f32x4.splat(0);
    let b = a;
    let c = a;
    let d = a;
    for (; at < stop; at += 64) {
      const p = v128.load(at), q = v128.load(at, 16), r = v128.load(at, 32), s = v128.load(at, 48);
      a = f32x4.add(a, f32x4.mul(p, p));
      b = f32x4.add(b, f32x4.mul(q, q));
      c = f32x4.add(c, f32x4.mul(r, r));
      d = f32x4.add(d, f32x4.mul(s, s));
    }
    const sum = f32x4.add(f32x4.add(a, b), f32x4.add(c, d));
    total += <f64>f32x4.extract_lane(sum, 0) + <f64>f32x4.extract_lane(sum, 1) + <f64>f32x4.extract_lane(sum, 2) + <f64>f32x4.extract_lane(sum, 3);
  }
  for (; at < end; at += 4) {
    const v = <f64>load<f32>(at);
    total += v * v;
  }
  return total;
}

// AssemblyScript puts this in the place of each call.
@inline
function update(
  w: usize, g: usize, m: usize, v: usize,
  rate: v128, beta1: v128, beta2: v128, rest1: v128, rest2: v128, root: v128, epsilon: v128, keep: v128, scale: v128,
): void {
  const tiny = f32x4.splat(1e-30);
  const gradient = f32x4.mul(v128.load(g), scale);
  const grown = f32x4.add(f32x4.mul(v128.load(m), beta1), f32x4.mul(gradient, rest1));
  const first = v128.and(grown, f32x4.gt(f32x4.abs(grown), tiny));
  const spread = f32x4.add(f32x4.mul(v128.load(v), beta2), f32x4.mul(f32x4.mul(gradient, gradient), rest2));
  const second = v128.and(spread, f32x4.gt(spread, tiny));
  v128.store(m, first);
  v128.store(v, second);
  const step = f32x4.div(f32x4.mul(first, rate), f32x4.add(f32x4.sqrt(f32x4.mul(second, root)), epsilon));
  v128.store(w, f32x4.sub(f32x4.mul(v128.load(w), keep), step));
}

/**
 * One AdamW step in place. `rate` is the learning rate over the first moment's bias correction, `root` 1 over the second's,
 * `keep` 1 − learning rate · weight decay, `scale` what clipping multiplies the gradient by. Moments below 1e-30 become 0,
 * before they turn into denormal numbers, which are slow.
 */
export function adamw(
  w: usize, g: usize, m: usize, v: usize, count: i32,
  rate: f32, beta1: f32, beta2: f32, root: f32, epsilon: f32, keep: f32, scale: f32,
): void {
  const rest1: f32 = 1 - beta1;
  const rest2: f32 = 1 - beta2;
  const vRate = f32x4.splat(rate), vBeta1 = f32x4.splat(beta1), vBeta2 = f32x4.splat(beta2);
  const vRest1 = f32x4.splat(rest1), vRest2 = f32x4.splat(rest2), vRoot = f32x4.splat(root);
  const vEpsilon = f32x4.splat(epsilon), vKeep = f32x4.splat(keep), vScale = f32x4.splat(scale);
  const pairs = <usize>(count & ~7) << 2;
  let i: usize = 0;
  for (; i < pairs; i += 32) { // two vectors at a time: the long division of one hides behind the other
    update(w + i, g + i, m + i, v + i, vRate, vBeta1, vBeta2, vRest1, vRest2, vRoot, vEpsilon, vKeep, vScale);
    update(w + i + 16, g + i + 16, m + i + 16, v + i + 16, vRate, vBeta1, vBeta2, vRest1, vRest2, vRoot, vEpsilon, vKeep, vScale);
  }
  const end = <usize>count << 2;
  for (; i < end; i += 4) {
    const gradient = load<f32>(g + i) * scale;
    let first = load<f32>(m + i) * beta1 + gradient * rest1;
    let second = load<f32>(v + i) * beta2 + gradient * gradient * rest2;
    if (!(abs<f32>(first) > 1e-30)) first = 0;
    if (!(second > 1e-30)) second = 0;
    store<f32>(m + i, first);
    store<f32>(v + i, second);
    store<f32>(w + i, load<f32>(w + i) * keep - (first * rate) / (sqrt<f32>(second * root) + epsilon));
  }
}

/** y = keep · y + a · x: accumulating gradients, adding a decay to them, momentum. */
export function blend(y: usize, x: usize, count: i32, keep: f32, a: f32): void {
  const vKeep = f32x4.splat(keep), vA = f32x4.splat(a);
  const whole = <usize>(count & ~3) << 2;
  let i: usize = 0;
  for (; i < whole; i += 16) v128.store(y + i, f32x4.add(f32x4.mul(v128.load(y + i), vKeep), f32x4.mul(v128.load(x + i), vA)));
  const end = <usize>count << 2;
  for (; i < end; i += 4) store<f32>(y + i, load<f32>(y + i) * keep + load<f32>(x + i) * a);
}

/** Momentum in place, m = beta · m + scale · g, and beside it what a step follows (Nesterov): u = beta · m + scale · g, with the new m. */
export function nesterov(u: usize, g: usize, m: usize, count: i32, beta: f32, scale: f32): void {
  const vBeta = f32x4.splat(beta), vScale = f32x4.splat(scale), tiny = f32x4.splat(1e-30);
  const whole = <usize>(count & ~3) << 2;
  let i: usize = 0;
  for (; i < whole; i += 16) {
    const gradient = f32x4.mul(v128.load(g + i), vScale);
    const grown = f32x4.add(f32x4.mul(v128.load(m + i), vBeta), gradient);
    const momentum = v128.and(grown, f32x4.gt(f32x4.abs(grown), tiny));
    v128.store(m + i, momentum);
    v128.store(u + i, f32x4.add(f32x4.mul(momentum, vBeta), gradient));
  }
  const end = <usize>count << 2;
  for (; i < end; i += 4) {
    const gradient = load<f32>(g + i) * scale;
    let momentum = load<f32>(m + i) * beta + gradient;
    if (!(abs<f32>(momentum) > 1e-30)) momentum = 0;
    store<f32>(m + i, momentum);
    store<f32>(u + i, momentum * beta + gradient);
  }
}

// Numbers of many ranks: one stretch after the other, in the order of ranks. Each addition is rounded, and the first is to nothing.

/** The sum of stretches of numbers, which begin so many bytes from each other, in the place of the first. */
export function sumStretches(x: usize, count: i32, stretches: i32, stride: i32): void {
  const bytes = <usize>count << 2;
  const end = x + <usize>stride * stretches;
  let i = x;
  for (const whole = x + (bytes & ~63); i < whole; i += 64) { // a whole line of the cache of each
    let a = f32x4.splat(0);
    let b = a;
    let c = a;
    let d = a;
    for (let at = i; at < end; at += stride) {
      a = f32x4.add(a, v128.load(at));
      b = f32x4.add(b, v128.load(at, 16));
      c = f32x4.add(c, v128.load(at, 32));
      d = f32x4.add(d, v128.load(at, 48));
    }
    v128.store(i, a);
    v128.store(i, b, 16);
    v128.store(i, c, 32);
    v128.store(i, d, 48);
  }
  for (; i < x + bytes; i += 4) {
    let sum: f32 = 0;
    for (let at = i; at < end; at += stride) sum += load<f32>(at);
    store<f32>(i, sum);
  }
}

/** The sum of stretches of upper halves, as numbers. */
export function sumHalves(to: usize, x: usize, count: i32, stretches: i32, stride: i32): void {
  const bytes = <usize>count << 1;
  const end = x + <usize>stride * stretches;
  let i: usize = 0;
  for (const whole = bytes & ~31; i < whole; i += 32) {
    let a = f32x4.splat(0);
    let b = a;
    let c = a;
    let d = a;
    for (let at = x + i; at < end; at += stride) {
      a = f32x4.add(a, i32x4.shl(v128.load16x4_u(at), 16));
      b = f32x4.add(b, i32x4.shl(v128.load16x4_u(at, 8), 16));
      c = f32x4.add(c, i32x4.shl(v128.load16x4_u(at, 16), 16));
      d = f32x4.add(d, i32x4.shl(v128.load16x4_u(at, 24), 16));
    }
    const at = to + (i << 1);
    v128.store(at, a);
    v128.store(at, b, 16);
    v128.store(at, c, 32);
    v128.store(at, d, 48);
  }
  for (; i < bytes; i += 2) {
    let sum: f32 = 0;
    for (let at = x + i; at < end; at += stride) sum += reinterpret<f32>(<u32>load<u16>(at) << 16);
    store<f32>(to + (i << 1), sum);
  }
}

/** Upper halves as numbers. */
export function widen(to: usize, x: usize, count: i32): void {
  let i: usize = 0;
  for (const whole = <usize>(count & ~3); i < whole; i += 4) v128.store(to + (i << 2), i32x4.shl(v128.load16x4_u(x + (i << 1)), 16));
  for (; i < <usize>count; i++) store<u32>(to + (i << 2), <u32>load<u16>(x + (i << 1)) << 16);
}

/** Numbers as the upper halves of their bits: the nearest such number, the even one of two that are as near; what is no number stays none. */
export function narrow(to: usize, x: usize, count: i32): void {
  const half = i32x4.splat(0x7fff), one = i32x4.splat(1), infinite = i32x4.splat(0x7f800000), none = i32x4.splat(0x7fc0);
  let i: usize = 0;
  for (const whole = <usize>(count & ~3); i < whole; i += 4) {
    const bits = v128.load(x + (i << 2));
    const near = i32x4.shr_u(i32x4.add(i32x4.add(bits, half), v128.and(i32x4.shr_u(bits, 16), one)), 16);
    const found = v128.bitselect(none, near, i32x4.gt_s(v128.and(bits, i32x4.splat(0x7fffffff)), infinite));
    v128.store64_lane(to + (i << 1), i16x8.narrow_i32x4_u(found, found), 0);
  }
  for (; i < <usize>count; i++) {
    const bits = load<u32>(x + (i << 2));
    store<u16>(to + (i << 1), <u16>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16));
  }
}
