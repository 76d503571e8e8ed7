/** The sweep of the disk of each hub, which does not depend on the role of the scheduler. */
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { startHubs } from '../support/hubs/joined-hubs.js';

const MINUTE_MS = 60_000;

it('a hub that does not schedule frees the bytes of uploads that are gone', async () => {
  const { hubs, close } = await startHubs(1);
  const [hub] = hubs;
  if (!hub) throw new Error('there is no hub');
  const { files, runtime } = hub;
  const upload = { id: 'gone', encrypt: false, sizeBytes: 10 };
  async function* content() {
    yield Buffer.from('half');
  }
  await files.uploads.append(upload, 0, content(), async () => undefined);
  expect(await files.uploads.ids()).toEqual(['gone']);
  await runtime.advance(MINUTE_MS);
  await eventually(async () => (await files.uploads.ids()).length === 0);
  await close();
});
