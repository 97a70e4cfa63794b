// Models behind HTTP: a function from requests to answers, to be mounted anywhere, and a port to listen on.

export type { ModelSettings } from "../processes/model-settings.ts";
export type { ModelEvent, ModelState, ModelStatus } from "../processes/models.ts";
export { AskError } from "../protocol/asking.ts";
export type {
  Answers,
  Ask,
  Begun,
  Fault,
  Form,
  FromModel,
  GivenPrompt,
  Load,
  ModelFacts,
  Piece,
  ToldError,
  ToldToken,
  ToModel,
  WriteAsk,
} from "../protocol/messages.ts";
export { type Listening, type ListenOptions, listen } from "../server/listen.ts";
export { type LogLine, ModelServer, type RequestLine, type ServerOptions } from "../server/server.ts";
