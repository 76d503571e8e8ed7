/** W1 and W2 of a hub whose instances another hub lends it, beside one with the same instances of its own agents. */
import { hub, hubOverSite } from '../subjects/hub.js';
import { W1, W2 } from './setups.js';
import { throughputWorkload } from './throughput.js';

const SUBJECTS = [hub, hubOverSite];

export const w1OverSite = throughputWorkload({
  ...W1,
  name: 'w1-site',
  what: `${W1.what}, lent by a site`,
  subjects: SUBJECTS,
  targets: [{ figure: 'hub over a site: tasks', is: 'at least', value: 0.5, times: 'hub: tasks' }],
});

export const w2OverSite = throughputWorkload({
  ...W2,
  name: 'w2-site',
  what: `${W2.what}, on instances that a site lends`,
  subjects: SUBJECTS,
  targets: [
    {
      figure: 'hub over a site: round trip, median',
      is: 'at most',
      value: 1,
      times: 'hub: round trip, median',
      plus: 5,
    },
  ],
});
