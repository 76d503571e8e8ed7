import { expect, it } from 'vitest';
import { agentSecret } from './secret.js';

it.each([{ token: 'secret' }, { tokenFile: '/token' }])(
  'advises to enroll where a hub accepts no token: %j',
  (source) => {
    const { advice } = agentSecret(source, 'workbench-agent enroll');
    expect(advice).toMatch(/set "token" or "tokenFile" to the hub's agents\.token/);
    expect(advice).toMatch(/if the hub has agents\.enrolledOnly.*remove both and enroll this agent/);
  },
);
