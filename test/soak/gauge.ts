/** Preloaded into hub and agents (`node --import`): writes the contents of their heaps into a file when they get SIGUSR2, once for each
 *  number in the file of requests. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { heapContents } from './heap.js';

const file = process.env['SOAK_GAUGE'] ?? '';
let latest = '';

async function measure(): Promise<void> {
  let request: string;
  try {
    request = readFileSync(`${file}.request`, 'utf8');
  } catch {
    return; // nothing is asked; the signal has another reason
  }
  if (request === latest) return;
  latest = request;
  const answer = await heapContents().catch((error: unknown) => ({ failure: String(error) }));
  writeFileSync(`${file}.part`, JSON.stringify({ request, ...answer }));
  renameSync(`${file}.part`, `${file}.answer`);
}

// Child processes are not measured.
delete process.env['NODE_OPTIONS'];
process.on('SIGUSR2', () => void measure());
