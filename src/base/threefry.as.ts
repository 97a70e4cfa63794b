// AssemblyScript: Threefry-2x32 with 20 rounds on four counters at a time, as in chance.ts.

@inline
function rotate(x: v128, bits: i32): v128 {
  return v128.or(i32x4.shl(x, bits), i32x4.shr_u(x, 32 - bits));
}

/** The blocks from `first` on, eight bytes each, a multiple of four of them. */
export function blocks(key0: i32, key1: i32, first: i32, count: i32, into: usize): void {
  const k0 = i32x4.splat(key0), k1 = i32x4.splat(key1), k2 = i32x4.splat(key0 ^ key1 ^ 0x1bd11bda);
  let counter = i32x4.add(i32x4.splat(first), i32x4(0, 1, 2, 3));
  const four = i32x4.splat(4);
  for (let i = 0; i < count; i += 4) {
    let x = i32x4.add(counter, k0);
    let y = k1;
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 13), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 15), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 26), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 6), x);
    x = i32x4.add(x, k1); y = i32x4.add(y, i32x4.add(k2, i32x4.splat(1)));
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 17), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 29), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 16), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 24), x);
    x = i32x4.add(x, k2); y = i32x4.add(y, i32x4.add(k0, i32x4.splat(2)));
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 13), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 15), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 26), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 6), x);
    x = i32x4.add(x, k0); y = i32x4.add(y, i32x4.add(k1, i32x4.splat(3)));
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 17), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 29), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 16), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 24), x);
    x = i32x4.add(x, k1); y = i32x4.add(y, i32x4.add(k2, i32x4.splat(4)));
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 13), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 15), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 26), x);
    x = i32x4.add(x, y); y = v128.xor(rotate(y, 6), x);
    x = i32x4.add(x, k2); y = i32x4.add(y, i32x4.add(k0, i32x4.splat(5)));
    v128.store(into, v128.shuffle<i32>(x, y, 0, 4, 1, 5));
    v128.store(into + 16, v128.shuffle<i32>(x, y, 2, 6, 3, 7));
    into += 32;
    counter = i32x4.add(counter, four);
  }
}

/** Bytes become flags: 1 where one is at least `least`, 0 elsewhere. `count` is a multiple of 16. */
export function flags(least: i32, count: i32, at: usize): void {
  const bound = i8x16.splat(<i8>least), one = i8x16.splat(1);
  for (const end = at + count; at < end; at += 16) v128.store(at, v128.and(i8x16.ge_u(v128.load(at), bound), one));
}

/**
 * Stretches of 2,048 bytes from the number `first` on, an even number of them: four xoshiro128++ (Blackman, Vigna 2019) side by side, begun anew for each stretch with
 * eight blocks of the above, so that any stretch can be asked for by its number. Two stretches are made at a time: the steps of one wait for each other.
 */
export function stretches(key0: i32, key1: i32, first: i32, count: i32, into: usize): void {
  for (let i = 0; i < count; i += 2) {
    blocks(key0, key1, 8 * (first + i), 8, into);
    blocks(key0, key1, 8 * (first + i + 1), 8, into + 2048);
    let a = v128.load(into), b = v128.load(into, 16), c = v128.load(into, 32), d = v128.load(into, 48);
    let e = v128.load(into, 2048), f = v128.load(into, 2064), g = v128.load(into, 2080), h = v128.load(into, 2096);
    const end = into + 2048;
    while (into < end) {
      v128.store(into, i32x4.add(rotate(i32x4.add(a, d), 7), a));
      v128.store(into, i32x4.add(rotate(i32x4.add(e, h), 7), e), 2048);
      const t = i32x4.shl(b, 9), u = i32x4.shl(f, 9);
      c = v128.xor(c, a); g = v128.xor(g, e);
      d = v128.xor(d, b); h = v128.xor(h, f);
      b = v128.xor(b, c); f = v128.xor(f, g);
      a = v128.xor(a, d); e = v128.xor(e, h);
      c = v128.xor(c, t); g = v128.xor(g, u);
      d = rotate(d, 11); h = rotate(h, 11);
      into += 16;
    }
    into += 2048;
  }
}
