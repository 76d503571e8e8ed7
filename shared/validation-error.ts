/** A JSON value that violates its schema. */
export class ValidationError extends Error {
  override readonly name = 'ValidationError';
  /** Path of the error, with dots between members; empty for the whole value. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}
