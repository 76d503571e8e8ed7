import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openBubblewrap, whyNot } from './bubblewrap.js';

const NOWHERE = { readable: [], hidden: [] };

describe('a sandbox that does not work says what is missing', () => {
  const settings = (values: Record<string, string>) => (path: string) => values[path];

  it.each([
    [
      'user namespaces are off',
      'bwrap: Creating new namespace failed: No space left on device',
      { '/proc/sys/user/max_user_namespaces': '0' },
      'sysctl user.max_user_namespaces=10000',
    ],
    [
      'they are for root only',
      'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.',
      { '/proc/sys/kernel/unprivileged_userns_clone': '0' },
      'sysctl kernel.unprivileged_userns_clone=1',
    ],
    [
      'AppArmor forbids them',
      'bwrap: setting up uid map: Permission denied',
      { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1' },
      'profile for bwrap',
    ],
    [
      'AppArmor takes away what they allow',
      'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted',
      { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1' },
      'profile for bwrap',
    ],
    [
      'a unit or container forbids them',
      'bwrap: Creating new namespace failed: Operation not permitted',
      {},
      'RestrictNamespaces',
    ],
    [
      '/proc may not be mounted',
      "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
      {},
      'ProtectKernelTunables',
    ],
    [
      'a folder is not there',
      "bwrap: Can't find source path /opt/solver: No such file or directory",
      {},
      'correct "sandbox" of the instance: /opt/solver is not on this host',
    ],
  ])('when %s', (_, said, values, advice) => {
    const sentence = whyNot(said, settings(values));
    expect(sentence).toContain(`bwrap does not work here: ${said}; `);
    expect(sentence).toContain(advice);
  });

  it('when the reason is not known, in the words of bubblewrap', () => {
    expect(whyNot('bwrap: strange', () => undefined)).toBe('bwrap does not work here: bwrap: strange');
  });

  it('when the program is too old', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'bubblewrap-test-'));
    try {
      await writeFile(join(folder, 'bwrap'), '#!/bin/sh\necho "    --unshare-all   x"\n', { mode: 0o755 });
      expect(await openBubblewrap({ PATH: folder }, NOWHERE)).toEqual({
        fault: expect.stringMatching(
          /bwrap is too old, it has no --die-with-parent, .*: install bubblewrap 0\.4 or newer/,
        ),
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
