/** Hubs that join other hubs. */
import { expect, onTestFinished } from 'vitest';
import { eventually } from '../eventually.js';
import { Api } from '../interface/api.js';
import { type HubSetup, type RunningHub, startHub } from './running-hub.js';

export type Item = Readonly<Record<string, unknown>>;

export interface Site {
  readonly hub: RunningHub;
  readonly api: Api;
}

type UpstreamSetup = NonNullable<NonNullable<HubSetup['config']>['upstreams']>[number];

/** Configuration of a hub that joins `above`, where its name is `id`. */
export function configOfSite(
  above: Pick<RunningHub, 'address' | 'token'>,
  id: string,
  lend: UpstreamSetup['lend'] = {},
): NonNullable<HubSetup['config']> {
  const url = above.address.replace('http', 'ws');
  return {
    server: { publicUrl: `https://${id}.example.com` },
    upstreams: [{ name: 'hq', url, id, token: above.token, lend }],
  };
}

/** Starts a hub that joins `above`, for the running test. */
export async function startSite(
  above: Pick<RunningHub, 'address' | 'token'>,
  id = 'berlin',
  { lend, ...setup }: HubSetup & { readonly lend?: UpstreamSetup['lend'] } = {},
): Promise<Site> {
  const hub = await startHub({ ...setup, config: { ...configOfSite(above, id, lend), ...setup.config } });
  onTestFinished(hub.stop);
  return { hub, api: new Api(hub) };
}

/** The items of the list at this path. */
export async function listed(of: Api, path: string): Promise<Item[]> {
  return (await of.get(path)).body['content'] as Item[];
}

/** The instance with this id at this hub, when it is as wanted. */
export function instanceAt(of: Api, id: string, wanted: Item = { status: 'UP' }): Promise<Item> {
  return eventually(async () => {
    const instances = await listed(of, '/api/2.0/workbench/node/instance/list');
    const found = instances.find((each) => each['id'] === id);
    expect(found).toMatchObject({ id, ...wanted });
    return found as Item;
  });
}

/** The result of a task, when it has ended or after a minute. */
export async function resultOf(of: Api, id: string, kind = 'simulate-work'): Promise<Item> {
  return (await of.get(`/api/2.0/workbench/task/${kind}/${id}/result?timeout=60`)).body;
}
