/** Hubs of later versions, as programs. */

/** Environment variable with the number of schema generations by which the hub is ahead of this build. */
export const AHEAD = 'WORKBENCH_TEST_GENERATIONS_AHEAD';

/** Script and environment of a hub that is one or two schema generations ahead of this build. */
export function laterHub(ahead: 1 | 2): { readonly script: string; readonly env: NodeJS.ProcessEnv } {
  const changes = new URL('../../dist/support/hubs/next-hub.js', import.meta.url).href;
  // A bundle cannot be changed from outside.
  return { script: 'hub/dist/main.js', env: { NODE_OPTIONS: `--import=${changes}`, [AHEAD]: String(ahead) } };
}
