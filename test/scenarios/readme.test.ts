/** The README's job by curl, run to the letter against real programs. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endPrograms, startAgent, startHub } from '../support/programs.js';
import { type JobResult, outputsOf } from '../support/rest-client.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The shell block after the comment `<!-- job -->`, and the agent's instances as the README has them. */
function readmeJob(): string {
  const block = /<!-- job -->\n```sh\n([\s\S]*?)```/.exec(readme)?.[1];
  if (block === undefined) throw new Error('the README has no shell block after <!-- job -->');
  return block;
}

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

describe('the job by curl in the README', () => {
  it('runs as it stands there', async () => {
    const hub = await startHub(folder.path);
    startAgent(folder.path, hub, 'my-host', {
      instances: [{ id: 'sim', version: '9.1.0', labels: ['gears'], count: 2 }],
    });
    const script = readmeJob().replace('http://127.0.0.1:8080', hub.baseUrl);
    const { stdout } = await promisify(execFile)('bash', ['-euc', script], { cwd: folder.path });

    const end = stdout.lastIndexOf('}') + 1;
    const result = JSON.parse(stdout.slice(0, end)) as JobResult;
    expect(result).toMatchObject({ status: 'FINISHED', batchExecutionStatus: 'OK' });
    expect(outputsOf(result)).toEqual({
      'ratio.txt': '2',
      'report/summary.txt': 'ratio 2, input speed 1500 rpm\n',
    });
    expect(stdout.slice(end)).toBe('ratio of 2 gears at 1500 rpm\n');
  });
});
