/** Composition of the company's sign-on. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { HubConfig } from './config.js';
import type { UserStore } from './core/ports/accounts.js';
import type { Authenticator } from './engine/accounts/authenticator-chain.js';
import type { DeviceLogin } from './http/x/sign-on-endpoint.js';
import { oidcAuthenticator } from './security/oidc.js';
import { trustedCertificates } from './security/trusted-certificates.js';

/** The authenticator of its tokens; none where no sign-on is configured. */
export async function oidcAuthenticators(
  { security }: HubConfig,
  users: Pick<UserStore, 'find' | 'all'>,
  runtime: Runtime,
  log: Logger,
): Promise<Authenticator[]> {
  if (!security.oidc) return [];
  const { clockTolerance: clockToleranceMs, ca: caFile, deviceLogin: _, ...settings } = security.oidc;
  const ca = caFile === null ? null : await trustedCertificates(caFile, 'security.oidc.ca');
  const isOwnUser = async (username: string) => (await users.find(username)) !== undefined;
  const ownUsers = async () => (await users.all()).map(({ username }) => username);
  return [oidcAuthenticator({ ...settings, clockToleranceMs, ca, isOwnUser, ownUsers, runtime, log })];
}

/** The device flow of the sign-on for clients; undefined where none is configured. */
export function deviceLoginOf({ security: { enabled, oidc } }: HubConfig): DeviceLogin | undefined {
  if (!enabled || !oidc?.deviceLogin) return undefined;
  const { clientId, scopes, resource } = oidc.deviceLogin;
  return { issuer: oidc.issuer, clientId, scopes, ...(resource === null ? {} : { resource }) };
}
