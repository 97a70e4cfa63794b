import * as z from "zod";
import { errorSchema } from "./errors.ts";
import * as responses from "./responses.ts";
import { type AnswerType, type Route, routes } from "./routes.ts";

// The reference of the API, made of the schemas that check requests.

const schemaOf = (schema: z.ZodType, io: "input" | "output") => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
};

const contentOf = (answers: readonly AnswerType[]) =>
  Object.fromEntries(
    answers.map(({ type, schema }) => [type, schema && type === "application/json" ? { schema: schemaOf(schema, "output") } : {}]),
  );

const statuses: Readonly<Record<string, string>> = {
  400: "The request is wrong; the error names the field.",
  401: "An API key is wanted, or another one.",
  403: "Asked under a name, or by a page, that is not let in.",
  404: "There is no such model.",
  413: "The body is too large.",
  415: "The body is not application/json.",
  429: "Too many requests wait; Retry-After says when to try again.",
  500: "A fault of the server or of the model.",
  503: "The model is being started again, or the server is stopping; Retry-After says when to try again.",
};

const errorAnswers = (some: readonly string[] = Object.keys(statuses)) => {
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
  return Object.fromEntries(some.map((status) => [status, { description: statuses[status], content }]));
};

const post = ({ summary, body, answers, path }: Route) => ({
  post: {
    operationId: path.replace(/^\/(v1\/)?/, "").replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase()),
    summary,
    requestBody: { required: true, content: { "application/json": { schema: schemaOf(body, "input") } } },
    responses: { 200: { description: summary, content: contentOf(answers) }, ...errorAnswers() },
  },
});

const get = (operationId: string, summary: string, answers: readonly AnswerType[], more: object = {}) => ({
  get: {
    operationId,
    summary,
    responses: { 200: { description: summary, content: contentOf(answers) }, ...errorAnswers(["401", "403"]), ...more },
  },
});

export function openapi(version: string, secured: boolean): object {
  const health: AnswerType = { type: "application/json", schema: responses.healthResponse };
  const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
  const one = get("model", "One model.", [{ type: "application/json", schema: responses.modelResponse }], errorAnswers(["404"]));
  return {
    openapi: "3.1.0",
    info: { title: "qkv", version, description: "Trained models over HTTP: OpenAI's API, and looks inside." },
    ...(secured && { security: [{ key: [] }] }),
    paths: {
      ...Object.fromEntries(routes.map((route) => [route.path, post(route)])),
      "/v1/models": get("models", "The models that are served.", [{ type: "application/json", schema: responses.modelsResponse }]),
      "/v1/models/{id}": { ...one, parameters: [id] },
      "/health": get("health", "Whether the server can answer; without a key.", [health], {
        503: { description: "Not now: a model is being loaded, or the server is stopping.", content: contentOf([health]) },
      }),
      "/metrics": get("metrics", "Numbers for Prometheus.", [{ type: "text/plain" }]),
      "/openapi.json": get("openapi", "This reference.", [{ type: "application/json" }]),
      "/": get("page", "A page to try a model.", [{ type: "text/html" }]),
    },
    components: {
      schemas: { Error: schemaOf(errorSchema, "output") },
      ...(secured && { securitySchemes: { key: { type: "http", scheme: "bearer" } } }),
    },
  };
}
