/** The times of the page on several hubs are those of the hub. */
import { readFileSync } from 'node:fs';
import { CLUSTER_TIMINGS } from '@workbench-hub/hub/store/postgres/cluster/common/timings';
import { expect, it } from 'vitest';

const page = readFileSync(new URL('../../packages/docs/several-hubs.md', import.meta.url), 'utf8');

it.each([
  ['those that do not return count as unreachable after 15 s', CLUSTER_TIMINGS.lapseMs, 15_000],
  ['after about twelve seconds it asks its agents to join the others', CLUSTER_TIMINGS.cutOffMs, 11_500],
  ['the hubs read again at least every ten seconds', CLUSTER_TIMINGS.resyncMs, 10_000],
])('"%s"', (words, ms, expected) => {
  expect(page).toContain(words);
  expect(ms).toBe(expected);
});
