import { sizeInWords } from './console.js';

const DRAW_EVERY_MS = 100;
const WIDTH = 24;

/** Bar with speed and time left for a transfer, on a terminal only. */
export class TransferBar {
  readonly #stream: NodeJS.WriteStream;
  readonly #beganMs = performance.now();
  #drawnMs = Number.NEGATIVE_INFINITY;
  #isShown = false;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  update(label: string, bytes: number, totalBytes: number): void {
    const nowMs = performance.now();
    if (!this.#stream.isTTY || (nowMs - this.#drawnMs < DRAW_EVERY_MS && bytes < totalBytes)) return;
    this.#drawnMs = nowMs;
    this.#isShown = true;
    this.#stream.write(`\r\u001b[K${barOf(label, bytes, totalBytes, (nowMs - this.#beganMs) / 1000)}`);
  }

  /** Removes the bar. */
  end(): void {
    if (this.#isShown) this.#stream.write('\r\u001b[K');
  }
}

export function barOf(label: string, bytes: number, totalBytes: number, seconds: number): string {
  const part = totalBytes === 0 ? 1 : Math.min(1, bytes / totalBytes);
  const done = Math.round(part * WIDTH);
  const perS = seconds > 0 ? bytes / seconds : 0;
  const left = perS > 0 && part < 1 ? `, ${Math.ceil((totalBytes - bytes) / perS)} s left` : '';
  const bar = `${'#'.repeat(done)}${'-'.repeat(WIDTH - done)}`;
  return `${label} [${bar}] ${Math.floor(part * 100)} % of ${sizeInWords(totalBytes)}, ${sizeInWords(Math.round(perS))}/s${left}`;
}
