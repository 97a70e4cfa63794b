import { ConfigError } from "../base/errors.ts";
import type { IntakeOptions } from "./intake.ts";
import type { Job, JobAnswers } from "./messages.ts";

export async function planned(_: Extract<Job, { kind: "plan" }>, __: IntakeOptions): Promise<JobAnswers["plan"]> {
  throw new ConfigError("a plan cannot be made yet");
}

export async function costed(_: Extract<Job, { kind: "cost" }>, __: IntakeOptions): Promise<JobAnswers["cost"]> {
  throw new ConfigError("costs cannot be counted yet");
}
