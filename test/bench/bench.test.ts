/** That the benchmark works: every workload, in small. What it measures is not looked at here. */
import { describe, expect, it } from 'vitest';
import { runWorkload } from './run-workload.js';
import { WORKLOADS } from './workloads.js';

async function inSmall(name: string): Promise<{ said: string[]; figures: string[] }> {
  const workload = WORKLOADS.find((each) => each.name === name);
  if (!workload) throw new Error(`there is no workload ${name}`);
  const said: string[] = [];
  const { figures, processes } = await runWorkload(workload, {
    runs: 1,
    scale: 0.001,
    seed: 1,
    plans: true,
    say: (line) => said.push(line),
  });
  for (const { median } of figures) expect(median).not.toBeNaN();
  for (const { cpuS, peakRssMib } of processes) expect([cpuS, peakRssMib]).not.toContain(Number.NaN);
  return { said, figures: figures.map((figure) => figure.name) };
}

// It reads what the processes use from /proc.
describe.skipIf(process.platform !== 'linux')('in small, the workload', () => {
  it('lists finds what it is looking for, and shows query plans', async () => {
    const { said, figures } = await inSmall('lists');
    expect(figures).toEqual(
      expect.arrayContaining([
        '2.0 list (1116)',
        '2.0 list?status=FAILED (3)',
        '2.0 list?creator=rita (3)',
        '2.0 list?name=*haystack (3)',
        '2.0 list?name=*xyzzy* (0)',
        '1.0 list/running (16)',
      ]),
    );
    expect(said.filter((line) => line.startsWith('query plan of'))).not.toHaveLength(0);
  });

  it('storage takes files in and gives them out', async () => {
    const { figures } = await inSmall('storage');
    expect(figures).toEqual(
      expect.arrayContaining([
        'plain copy, synced',
        'sha256sum',
        'JSON in',
        'JSON in: memory of the hub',
        'JSON out',
        'JSON out: memory of the hub',
      ]),
    );
  });

  it('polls answers everyone who stays', async () => {
    const { figures } = await inSmall('polls');
    expect(figures).toEqual(
      expect.arrayContaining([
        'memory above idle',
        'places of 1 that left free after',
        'end to answer, median',
        'hub to bare server',
      ]),
    );
  });
});
