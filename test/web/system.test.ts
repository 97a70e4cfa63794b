import { createHash as nodeHash } from "node:crypto";
import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as pageCrypto from "../../src/web/system/crypto.ts";
import * as pagePath from "../../src/web/system/path.ts";

// The stand-ins for Node's modules beside files: the same answers.

describe("hashes", () => {
  it.each(["sha256", "sha1"] as const)("%s is Node's, in whatever pieces the bytes come, and when it is copied on the way", (kind) => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom(63, 64, 65, 65_536, 100_000).map((size) => new Uint8Array(size).fill(size)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.string(), (pieces, text) => {
        const [ours, theirs] = [pageCrypto.createHash(kind), nodeHash(kind)];
        for (const bytes of pieces) {
          ours.update(bytes);
          theirs.update(bytes);
          expect(ours.copy().digest("hex")).toBe(theirs.copy().digest("hex"));
        }
        expect(ours.update(text).digest("hex")).toBe(theirs.update(text).digest("hex"));
      }),
      { numRuns: 300 },
    );
  });
});

describe("paths", () => {
  const path = fc.array(fc.constantFrom("/", "a", "b.txt", "..", ".", ".c", "d.", "//"), { maxLength: 9 }).map((parts) => parts.join(""));
  it("are taken apart and put together as Node does", () => {
    fc.assert(
      fc.property(path, path, path, (a, b, c) => {
        expect(pagePath.normalize(a)).toBe(posix.normalize(a));
        expect(pagePath.join(a, b, c)).toBe(posix.join(a, b, c));
        expect(pagePath.resolve("/", a, b, c)).toBe(posix.resolve("/", a, b, c));
        expect(pagePath.relative(`/${a}`, `/${b}`)).toBe(posix.relative(`/${a}`, `/${b}`));
        expect([pagePath.dirname(a), pagePath.basename(a), pagePath.extname(a)]).toEqual([
          posix.dirname(a),
          posix.basename(a),
          posix.extname(a),
        ]);
        if (/[^/]/.test(a)) expect(pagePath.basename(a, ".txt")).toBe(posix.basename(a, ".txt")); // of "//" Node says something odd
        expect(pagePath.isAbsolute(a)).toBe(posix.isAbsolute(a));
      }),
      { numRuns: 5000 },
    );
  });
});
