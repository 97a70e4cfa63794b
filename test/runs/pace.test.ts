import { describe, expect, it } from "vitest";
import { paceOf, planned } from "../../src/runs/pace.ts";

// What a trial took becomes steps for a time.

const pace = { step: 0.1, token: 0.001, once: 2 };

describe("steps and validations for a time", () => {
  it("fill what is left, with ten validations", () => {
    // 100 s − 2 s once − 10 validations of 0.5 s = 93 s of 0.1 s each
    expect(planned({ pace, seconds: 100, validation: 0.5 })).toEqual({ steps: 930, evalEvery: 93 });
    expect(planned({ pace, seconds: 100, validation: 0 })).toEqual({ steps: 980, evalEvery: 98 });
    expect(planned({ pace, seconds: 100, validation: 0, ending: 8 }).steps).toBe(900);
  });

  it("have fewer validations where these take long, and one at least", () => {
    expect(planned({ pace, seconds: 102, validation: 5 })).toEqual({ steps: 900, evalEvery: 450 });
    expect(planned({ pace, seconds: 102, validation: 40 })).toEqual({ steps: 600, evalEvery: 600 });
  });

  it("count the validations that were asked for", () => {
    expect(planned({ pace, seconds: 102, validation: 1, evalEvery: 10 })).toEqual({ steps: 500, evalEvery: 10 });
  });

  it("are one at least, and no more than are any use", () => {
    expect(planned({ pace, seconds: -5, validation: 1 })).toEqual({ steps: 1, evalEvery: 1 });
    expect(planned({ pace, seconds: 1000, validation: 0, most: 50 })).toEqual({ steps: 50, evalEvery: 5 });
  });
});

it("a trial's first step makes a session, which is no part of the pace", () => {
  const taken = [5, 1, 1, 1, 1, 1].map((seconds) => ({ seconds, tokens: 10 }));
  expect(paceOf(taken)).toEqual({ step: 1, token: 0.1, once: 4 });
});
