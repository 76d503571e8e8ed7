import type { UploadProgress } from '@workbench-hub/client';
import { printable, sizeInWords } from './console.js';

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

  /** `fromBytes` were there before the transfer began. */
  update(label: string, bytes: number, totalBytes: number, fromBytes = 0): void {
    const nowMs = performance.now();
    if (!this.#stream.isTTY || (nowMs - this.#drawnMs < DRAW_EVERY_MS && bytes < totalBytes)) return;
    this.#drawnMs = nowMs;
    this.#isShown = true;
    this.#stream.write(
      `\r\u001b[K${barOf(label, bytes, totalBytes, (nowMs - this.#beganMs) / 1000, fromBytes)}`,
    );
  }

  /** Removes the bar. */
  end(): void {
    if (this.#isShown) this.#stream.write('\r\u001b[K');
  }
}

export function barOf(
  label: string,
  bytes: number,
  totalBytes: number,
  seconds: number,
  fromBytes = 0,
): string {
  const part = totalBytes === 0 ? 1 : Math.min(1, bytes / totalBytes);
  const done = Math.round(part * WIDTH);
  const perS = seconds > 0 ? (bytes - fromBytes) / seconds : 0;
  const left = perS > 0 && part < 1 ? `, ${Math.ceil((totalBytes - bytes) / perS)} s left` : '';
  const bar = `${'#'.repeat(done)}${'-'.repeat(WIDTH - done)}`;
  return `${label} [${bar}] ${Math.floor(part * 100)} % of ${sizeInWords(totalBytes)}, ${sizeInWords(Math.round(perS))}/s${left}`;
}

/** Runs a step with a bar for the files that it uploads. The speed is that since the first bytes that arrived in this run. */
export async function withUploadBar<Result>(
  step: (onProgress: (progress: UploadProgress) => void) => Promise<Result>,
): Promise<Result> {
  const bars = new Map<string, { readonly bar: TransferBar; readonly fromBytes: number }>();
  const onProgress = ({ name, bytes, totalBytes }: UploadProgress) => {
    const known = bars.get(name) ?? { bar: new TransferBar(), fromBytes: bytes };
    bars.set(name, known);
    known.bar.update(printable(name), bytes, totalBytes, known.fromBytes);
  };
  try {
    return await step(onProgress);
  } finally {
    for (const { bar } of bars.values()) bar.end();
  }
}
