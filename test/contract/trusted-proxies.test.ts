/** Configuration of trusted proxies; `hub/http/wire/client.test.ts` tests their effect. */
import { hubConfigSchema } from '@workbench-hub/hub/config';
import { describe, expect, it } from 'vitest';

describe('server.trustedProxies', () => {
  it.each(['10.0.0.1', '10.0.0.0/8', 'loopback', 'uniquelocal', '::1', 'fd00::/8', '10.0.0.0/255.0.0.0'])(
    'accepts %s',
    (network) => {
      expect(hubConfigSchema.safeParse({ server: { trustedProxies: [network] } }).success).toBe(true);
    },
  );

  it.each(['proxy.example.org', '10.0.0', '10.0.0.0/33', '*', '', 'all', '10.0.0.1, 10.0.0.2'])(
    'refuses %j',
    (network) => {
      const { error } = hubConfigSchema.safeParse({ server: { trustedProxies: [network] } });
      expect(error?.issues).toMatchObject([
        {
          path: ['server', 'trustedProxies', 0],
          message: 'an address or network such as 10.0.0.1, 10.0.0.0/8 or loopback',
        },
      ]);
    },
  );
});
