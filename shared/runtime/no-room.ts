/** Refusal of a write before the disk is full; its code is that of a full disk. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
  readonly code = 'ENOSPC';

  constructor(message: string) {
    super(`ENOSPC: ${message}`);
  }
}
