/** A value that came as JSON is not as its schema says. */
export class ValidationError extends Error {
  override readonly name = 'ValidationError';
  /** Place of the error, with dots between the members; empty for the whole value. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}
