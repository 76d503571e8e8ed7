/** An independent validator between client and hub: Prism, which checks requests and responses against the document. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface PrismProxy {
  /** Address of the proxy, which forwards requests to the hub. */
  readonly address: string;
  stop(): Promise<void>;
}

const require = createRequire(import.meta.url);

/** Starts the proxy; `folder` gets a copy of the hub's document, changed by `altered`. */
export async function startPrism(
  hubAddress: string,
  folder: string,
  altered: (document: string) => string = (document) => document,
): Promise<PrismProxy> {
  const document = join(folder, `openapi-${randomUUID()}.json`);
  await writeFile(document, altered(await (await fetch(`${hubAddress}/openapi.json`)).text()));
  const args = ['proxy', '--errors', '-p', '0', '-h', '127.0.0.1', document, hubAddress];
  const child = spawn(process.execPath, [require.resolve('@stoplight/prism-cli'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const address = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      const [, found] = /listening on (http:\S+)/.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('error', reject);
    void ended.then(() => reject(new Error('the proxy ended before it listened')));
  });
  return {
    address,
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}
