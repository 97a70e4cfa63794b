/** Every error that qkv throws on purpose. Its message is a sentence for a person: where, what was found, what was wanted, a cure. */
export class QkvError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A graph that cannot be built: shapes, types or names that do not fit. */
export class GraphError extends QkvError {}

/** A value fed to a compiled function that its inputs do not accept. */
export class FeedError extends QkvError {}

/** A computation that gave NaN or infinity. */
export class NonFiniteError extends QkvError {}

/** The engine refused or failed. */
export class EngineError extends QkvError {}

/** A flag, option or setting with a value that makes no sense. */
export class ConfigError extends QkvError {}

/** Data that cannot be trained on or read: the file, the line, what was found and what was wanted. */
export class DataError extends QkvError {}

/** A file that is not what its name says: a damaged model.safetensors, a tokenizer.json that nobody could use. */
export class FormatError extends QkvError {}

/** A run that cannot start or go on: its folder, its disk, or something in it that changed. */
export class RunError extends QkvError {}
