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
