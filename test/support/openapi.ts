import { expect } from "vitest";
import * as z from "zod";
import type { Served } from "./serve.ts";

// The reference that a server gives of itself, by which its answers are judged.

export type JsonSchema = { readonly [key: string]: unknown };

interface Answer {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
}
interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, Answer>>;
}

export class Reference {
  readonly paths: Readonly<Record<string, { readonly get?: Operation; readonly post?: Operation }>>;
  readonly #error: JsonSchema;
  readonly #checks = new Map<JsonSchema, z.ZodType>();

  private constructor(document: { paths: Reference["paths"]; components: { schemas: { Error: JsonSchema } } }) {
    this.paths = document.paths;
    this.#error = document.components.schemas.Error;
  }

  static async of(served: Served, headers: Readonly<Record<string, string>> = {}): Promise<Reference> {
    return new Reference(await (await served.fetch("/openapi.json", { headers })).json());
  }

  /** Of every route that takes a body, its schema. */
  get bodies(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(
      Object.entries(this.paths).flatMap(([path, { post }]) =>
        post?.requestBody ? [[path, post.requestBody.content["application/json"].schema] as const] : [],
      ),
    );
  }

  /** Whether a body is what a route asks for, as the reference has it. */
  allows(path: string, body: unknown): boolean {
    return this.#check(this.bodies[path]).safeParse(body).success;
  }

  /** The value of an answer, which has the shape that the reference promises for its status. Where nothing is promised, OpenAI's error. */
  async checked(path: string, response: Response, method: "get" | "post" = "post"): Promise<unknown> {
    const text = await response.text();
    const type = (response.headers.get("content-type") ?? "").split(";")[0];
    const operation = this.paths[path]?.[method];
    const promised = operation?.responses[`${response.status}`]?.content;
    if (operation && response.status < 400) expect(Object.keys(promised ?? {}), `${path} ${response.status} ${type}`).toContain(type);
    if (type !== "application/json") {
      expect(response.status, text).toBeLessThan(400);
      return text;
    }
    const value: unknown = JSON.parse(text);
    const schema = response.status < 400 ? promised?.[type].schema : this.#error;
    const result = this.#check(schema ?? {}).safeParse(value);
    expect(result.error?.issues, `${path} ${response.status} ${text.slice(0, 500)}`).toBeUndefined();
    return value;
  }

  #check(schema: JsonSchema): z.ZodType {
    const found = this.#checks.get(schema) ?? z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    this.#checks.set(schema, found);
    return found;
  }
}
