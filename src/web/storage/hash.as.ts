// AssemblyScript: SHA-256 and SHA-1 (FIPS 180-4) of whole blocks of 64 bytes. In memory: 64 constants at 0, the state at 256, the schedule at 512.

const state: usize = 256;
const schedule: usize = 512;

@inline
function word(at: usize): u32 {
  return bswap<u32>(load<u32>(at));
}

@inline
function toE(e: u32, f: u32, g: u32, h: u32, t: usize): u32 {
  return h + (rotr<u32>(e, 6) ^ rotr<u32>(e, 11) ^ rotr<u32>(e, 25)) + (g ^ (e & (f ^ g))) + load<u32>(t) + load<u32>(schedule + t);
}

@inline
function toA(a: u32, b: u32, c: u32): u32 {
  return (rotr<u32>(a, 2) ^ rotr<u32>(a, 13) ^ rotr<u32>(a, 22)) + ((a & b) | (c & (a | b)));
}

export function sha256(from: usize, count: i32): void {
  let s0 = load<u32>(state), s1 = load<u32>(state + 4), s2 = load<u32>(state + 8), s3 = load<u32>(state + 12);
  let s4 = load<u32>(state + 16), s5 = load<u32>(state + 20), s6 = load<u32>(state + 24), s7 = load<u32>(state + 28);
  for (let block = 0; block < count; block++, from += 64) {
    for (let t: usize = 0; t < 64; t += 4) store<u32>(schedule + t, word(from + t));
    for (let t: usize = 64; t < 256; t += 4) {
      const x = load<u32>(schedule + t - 60), y = load<u32>(schedule + t - 8);
      const low = rotr<u32>(x, 7) ^ rotr<u32>(x, 18) ^ (x >>> 3);
      const high = rotr<u32>(y, 17) ^ rotr<u32>(y, 19) ^ (y >>> 10);
      store<u32>(schedule + t, load<u32>(schedule + t - 64) + low + load<u32>(schedule + t - 28) + high);
    }
    let a = s0, b = s1, c = s2, d = s3, e = s4, f = s5, g = s6, h = s7;
    for (let t: usize = 0; t < 256; t += 32) {
      h = toE(e, f, g, h, t); d += h; h += toA(a, b, c);
      g = toE(d, e, f, g, t + 4); c += g; g += toA(h, a, b);
      f = toE(c, d, e, f, t + 8); b += f; f += toA(g, h, a);
      e = toE(b, c, d, e, t + 12); a += e; e += toA(f, g, h);
      d = toE(a, b, c, d, t + 16); h += d; d += toA(e, f, g);
      c = toE(h, a, b, c, t + 20); g += c; c += toA(d, e, f);
      b = toE(g, h, a, b, t + 24); f += b; b += toA(c, d, e);
      a = toE(f, g, h, a, t + 28); e += a; a += toA(b, c, d);
    }
    s0 += a; s1 += b; s2 += c; s3 += d; s4 += e; s5 += f; s6 += g; s7 += h;
  }
  store<u32>(state, s0); store<u32>(state + 4, s1); store<u32>(state + 8, s2); store<u32>(state + 12, s3);
  store<u32>(state + 16, s4); store<u32>(state + 20, s5); store<u32>(state + 24, s6); store<u32>(state + 28, s7);
}

export function sha1(from: usize, count: i32): void {
  let s0 = load<u32>(state), s1 = load<u32>(state + 4), s2 = load<u32>(state + 8), s3 = load<u32>(state + 12), s4 = load<u32>(state + 16);
  for (let block = 0; block < count; block++, from += 64) {
    for (let t: usize = 0; t < 64; t += 4) store<u32>(schedule + t, word(from + t));
    for (let t: usize = 64; t < 320; t += 4) {
      const older = load<u32>(schedule + t - 12) ^ load<u32>(schedule + t - 32) ^ load<u32>(schedule + t - 56) ^ load<u32>(schedule + t - 64);
      store<u32>(schedule + t, rotl<u32>(older, 1));
    }
    let a = s0, b = s1, c = s2, d = s3, e = s4;
    for (let t = 0; t < 80; t++) {
      const mixed = t < 20 ? (d ^ (b & (c ^ d))) + 0x5a827999 : t < 40 ? (b ^ c ^ d) + 0x6ed9eba1 : t < 60 ? ((b & c) | (d & (b | c))) + 0x8f1bbcdc : (b ^ c ^ d) + 0xca62c1d6;
      const next = rotl<u32>(a, 5) + mixed + e + load<u32>(schedule + 4 * <usize>t);
      e = d; d = c; c = rotl<u32>(b, 30); b = a; a = next;
    }
    s0 += a; s1 += b; s2 += c; s3 += d; s4 += e;
  }
  store<u32>(state, s0); store<u32>(state + 4, s1); store<u32>(state + 8, s2); store<u32>(state + 12, s3); store<u32>(state + 16, s4);
}
